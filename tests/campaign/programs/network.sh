#!/bin/sh
# A network in one machine, for the ranks of a job whose messages go over TCP: rank R has the interface rankR with the address
# 10.77.R.1, and what it sends goes through a link of its own, of 1 Gbit/s and with a queue of 1 MiB (8 ms), as a switch has it.
#
#     unshare --map-root-user --net sh network.sh RANKS COMMAND...
#
# Messages between two addresses of one machine go over lo, and so lo has the links, by the sender's address.
set -e
ranks=$1
shift
ip link set lo up mtu 9000
tc qdisc add dev lo root handle 1: htb
rank=0
while [ "$rank" -lt "$ranks" ]; do
  # Open MPI uses no loopback interface by itself: a pair of others gives the rank a name to be reached by.
  ip link add "rank$rank" type veth peer name "peer$rank"
  ip address add "10.77.$rank.1/16" dev "rank$rank"
  ip link set "rank$rank" up
  ip link set "peer$rank" up
  class=1:$((rank + 1))
  tc class add dev lo parent 1: classid "$class" htb rate 1gbit burst 64k quantum 65536
  tc qdisc add dev lo parent "$class" bfifo limit 1m
  tc filter add dev lo parent 1: protocol ip u32 match ip src "10.77.$rank.1/32" flowid "$class"
  rank=$((rank + 1))
done
exec "$@"
