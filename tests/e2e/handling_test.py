"""What people say about alerts: margay alerts ack, unack, silence, silences, unsilence; and alerts that are said again while
they fire. With a rank that is really stopped, a webhook that listens, the real Alertmanager, and daemons that are killed."""
import json
import os
import signal
import subprocess
import time
import unittest

from e2e import LONG, MARGAY, end_process, wait_for
from sinks_test import ALERTMANAGER, Alertmanager, Receiver, SinksPlace


class Handling(SinksPlace):
    def margay(self, *arguments):
        done = subprocess.run([MARGAY, *arguments], env=self.environment, capture_output=True, text=True, timeout=LONG,
                              check=False)
        return done.returncode, done.stdout, done.stderr

    def done(self, *arguments):
        code, said, problem = self.margay(*arguments)
        self.assertEqual((code, problem), (0, ""), arguments)
        return said

    def listed(self, run):
        """The alerts of its archive."""
        code, text, _ = self.margay("alerts", "ls", run.archive, "--json")
        return json.loads(text) if code == 0 else []

    def value(self, run, name):
        return self.counters(run).get(name, {}).get("value", 0)

    def kill_daemon(self, run):
        restarts, daemon = self.value(run, "restarts"), run.child("margayd")
        end_process(daemon, signal.SIGKILL)
        wait_for(lambda: run.child("margayd") not in (None, daemon), "another daemon")
        wait_for(lambda: self.value(run, "restarts") == restarts + 1, "it answers")

    def start_job(self, **keys):
        run = self.run_margay(self.job(), flags=["--config", self.config(**keys)])
        self.rank = run.ranks("margay-workload", 2)[1]
        run.wait_for_slices(10)
        return run

    def stop_the_rank(self, run, silenced=False):
        """Until resume(). The alert as `ls` has it."""
        self.stopped = self.rank
        os.kill(self.stopped, signal.SIGSTOP)
        self.addCleanup(self.resume)
        return wait_for(lambda: [a for a in self.listed(run) if ("silenced_by" in a) == silenced], "the alert")[0]

    def test_acknowledged_and_the_daemon_killed(self):
        webhook = Receiver(self)
        manager = Alertmanager(self) if ALERTMANAGER else None
        run = self.start_job(webhook=webhook.url, update_every="1s", persistent_after="2s",
                             **({"alertmanager": manager.url} if manager else {}))
        alert = self.stop_the_rank(run)
        wait_for(lambda: webhook.told(alert), "the webhook")
        said = self.done("alerts", "ack", alert["id"][-6:], "--comment", "disk swap", "--by", "ann")
        self.assertIn(f"{alert['id']} is acknowledged", said)
        # It is in the archive when the command returns.
        end_process(run.child("margayd"), signal.SIGKILL)
        now, = [a for a in self.listed(run) if a["id"] == alert["id"]]
        self.assertEqual((now["acknowledged"]["by"], now["acknowledged"]["comment"]), ("ann", "disk swap"))
        wait_for(lambda: self.value(run, "restarts") == 1, "another daemon")
        # It becomes persistent, which nobody is told.
        wait_for(lambda: self.listed(run)[0]["updates"] > 0, "an update")
        wait_for(lambda: self.value(run, "alerts_held_by_ack") > 0, "the count")
        code, text, _ = self.margay("alerts", "ls", run.archive)
        self.assertIn("firing, acknowledged by ann", text)
        self.assertNotIn("persistent", text)
        self.assertIn("by ann: disk swap", self.margay("alerts", "show", run.archive, alert["id"])[1])
        self.kill_daemon(run)
        if manager:
            there, = manager.alerts()
            self.assertEqual(there["labels"]["alert_id"], alert["id"], "it goes on firing there")
        self.resume()
        wait_for(lambda: "resolved" in webhook.told(alert), "the end")
        code, _, problem = self.margay("alerts", "ack", run.name, alert["id"])
        self.assertEqual(code, 1)
        self.assertIn(f"no alert '{alert['id']}' fires: none is firing", problem)
        self.end_job(run)
        # An update may have come before it was acknowledged; nothing after.
        told = [a for a in webhook.got if a["id"] == alert["id"]]
        self.assertEqual([(a["status"], a["updates"]) for a in told[:1] + told[-1:]],
                         [("firing", 0), ("resolved", told[-1]["updates"])])
        self.assertLessEqual(len(told), 3)
        self.assertEqual(len({(a["status"], a["updates"]) for a in told}), len(told), "said twice")
        self.assertGreater(told[-1]["updates"], len(told) - 2, "updates that were not told")
        self.assertEqual([a for a in run.alerts if a in told], told)
        self.assertEqual(self.listed(run)[0]["acknowledged"]["by"], "ann", "it is known afterwards, too")
        replayed = os.path.join(self.place, "again.jsonl")
        self.done("replay", "--quiet", "--alerts", replayed, run.archive)
        with open(replayed, encoding="utf-8") as file:
            words = [(a["id"], a["status"], a["updates"]) for a in map(json.loads, file)]
        self.assertEqual(words[0], (alert["id"], "firing", 0))
        self.assertEqual(words[-1], (alert["id"], "resolved", told[-1]["updates"]))
        self.assertEqual(len(words), told[-1]["updates"] + 2, "a replay says every word, and none more")

    def test_silenced_before_it_happens(self):
        webhook = Receiver(self)
        manager = Alertmanager(self) if ALERTMANAGER else None
        run = self.start_job(webhook=webhook.url, update_every="1s", persistent_after="2s",
                             **({"alertmanager": manager.url} if manager else {}))
        said = self.done("alerts", "silence", run.name, "--node", "/*/rank1", "--for", "1h", "--comment", "maintenance")
        self.assertIn("s1 silences node /*/rank1", said)
        alert = self.stop_the_rank(run, silenced=True)
        self.assertEqual((alert["status"], alert["silenced_by"]), ("firing", "s1"))
        self.assertIn("silenced by s1", self.margay("alerts", "ls", run.archive)[1])
        self.assertIn("maintenance", self.done("alerts", "silences"))
        there, = json.loads(self.done("alerts", "silences", run.archive, "--json"))["silences"]
        self.assertEqual((there["id"], there["node"], there["active"]), ("s1", "/*/rank1", True))
        self.kill_daemon(run)
        wait_for(lambda: self.value(run, "alerts_held_by_silence") > 0, "an update that is silenced, too")
        self.assertEqual(self.value(run, "silences_active"), 1)
        self.assertEqual((webhook.got, run.alerts), ([], []))
        if manager:
            self.assertEqual(manager.alerts(), [])
        # A silence of something else changes nothing; the end of this one does.
        self.done("alerts", "silence", "--node", "/", "--state", "no_such", "--until", "23:59:59Z")
        said = self.done("alerts", "unsilence", run.archive, "s1")
        self.assertIn("s1 has ended: it silenced node /*/rank1; 1 alert that fires is sent now", said)
        wait_for(lambda: webhook.told(alert), "the webhook")
        self.assertEqual(webhook.got[0]["status"], "firing")
        if manager:
            wait_for(lambda: [a["labels"]["alert_id"] for a in manager.alerts()] == [alert["id"]], "Alertmanager")
        self.kill_daemon(run)
        self.resume()
        wait_for(lambda: "resolved" in webhook.told(alert), "the end")
        if manager:
            wait_for(lambda: manager.alerts() == [], "the end at Alertmanager")
        # Silenced from its begin to its end.
        self.done("alerts", "silence", "--kind", "perturbation", "--for", "1h")
        wait_for(lambda: self.listed(run)[0]["status"] == "resolved", "the archive")
        os.kill(self.stopped, signal.SIGSTOP)
        wait_for(lambda: any(a["status"] == "firing" and a.get("silenced_by") == "s3" for a in self.listed(run)),
                 "another one")
        self.resume()
        wait_for(lambda: all(a["status"] == "resolved" for a in self.listed(run)), "its end")
        # Neither is anything of it sent later, when nothing silences it any more.
        self.done("alerts", "unsilence", "s3")
        self.kill_daemon(run)
        # A busy machine may disturb the job as well, while nothing silences it.
        silenced = {a["id"] for a in self.listed(run) if a.get("silenced_by") == "s3"}
        self.assertTrue(silenced - {alert["id"]}, "it is said of it for good")
        self.end_job(run)
        got = {a["id"] for a in webhook.got}
        self.assertIn(alert["id"], got)
        self.assertEqual(got & silenced, set())
        self.assertEqual(webhook.got, [a for a in run.alerts if a in webhook.got])
        words = [(a["status"], a["updates"]) for a in webhook.got]
        self.assertEqual(len(set(words)), len(words), "said twice")

    def test_taken_back_and_planned(self):
        webhook = Receiver(self)
        run = self.start_job(webhook=webhook.url, update_every="1s", persistent_after="4s")
        in_two_hours = time.strftime("%H:%M:%SZ", time.gmtime(time.time() + 7200))
        said = self.done("alerts", "silence", "--node", "/", "--from", in_two_hours, "--for", "1h")
        self.assertIn("s1 will silence everything\nit holds from ", said)
        self.assertRegex(self.done("alerts", "silences"), r"s1 .* in (1 h 59|2 h 0) min")
        alert = self.stop_the_rank(run)
        wait_for(lambda: webhook.told(alert), "the webhook: it is not silenced yet")
        self.done("alerts", "ack", alert["id"], "--by", "ann", "--comment", "disk swap")
        text = self.done("status", run.name)
        self.assertIn("alerts: 1 open (1 acknowledged), 0 resolved", text)
        self.assertIn("(acknowledged by ann: disk swap)", text)
        there, = [a for a in run.status()["alerts"] if a["id"] == alert["id"] and a["updates"] == 0]
        self.assertEqual((there["acknowledged"]["by"], there["acknowledged"]["comment"]), ("ann", "disk swap"))
        # It becomes persistent; on a slow machine before it was acknowledged.
        def updated():
            return any(a["updates"] for a in webhook.got)
        wait_for(lambda: self.value(run, "alerts_held_by_ack") > 0 or updated(), "an update")
        behind = self.value(run, "alerts_held_by_ack") > 0
        said = self.done("alerts", "unack", alert["id"][-6:])
        self.assertIn(f"{alert['id']} is not acknowledged any more", said)
        if behind:
            self.assertIn("its present state is sent", said)
        wait_for(updated, "the update that nobody was told of")
        # It is in the archive when the command returns.
        self.assertNotIn("acknowledged", self.listed(run)[0])
        self.kill_daemon(run)
        self.assertNotIn("acknowledged", self.listed(run)[0])
        self.assertIn("alerts: 1 open, 0 resolved", self.done("status", run.name))
        there, = json.loads(self.done("alerts", "silences", run.name, "--json"))["silences"]
        self.assertEqual((there["id"], there["active"], there["until_ns"] - there["from_ns"]), ("s1", False, 3600 * 10**9))
        self.assertIn("s1 is cancelled", self.done("alerts", "unsilence", "s1"))
        self.resume()
        wait_for(lambda: "resolved" in webhook.told(alert), "the end")
        self.end_job(run)
        words = [(a["status"], a["updates"]) for a in webhook.got]
        self.assertEqual(len(set(words)), len(words), "said twice")

    def test_it_is_said_again_when_it_changes(self):
        webhook = Receiver(self)
        manager = Alertmanager(self) if ALERTMANAGER else None
        run = self.start_job(webhook=webhook.url, update_every="1s", persistent_after="2s",
                             **({"alertmanager": manager.url} if manager else {}))
        alert = self.stop_the_rank(run)
        word = wait_for(lambda: [a for a in webhook.got if a["persistent"]], "a persistent one")[0]
        self.assertEqual((word["id"], word["status"], word["onset_ns"]), (alert["id"], "firing", alert["onset_ns"]))
        self.assertGreater(word["updated_ns"] - word["onset_ns"], 1_900_000_000)
        wait_for(lambda: "firing, persistent" in self.margay("alerts", "ls", run.archive)[1], "the archive")
        if manager:
            def updated():
                there, = manager.alerts()
                return there["annotations"]["summary"] != webhook.got[0]["message"]
            wait_for(updated, "Alertmanager")
        self.assertGreater(self.value(run, "alerts_updated"), 0)
        self.resume()
        wait_for(lambda: "resolved" in webhook.told(alert), "the end")
        self.end_job(run)
        # Of updates that come at once a sink is told the newest.
        self.assertEqual(webhook.got, [a for a in run.alerts if a in webhook.got])
        self.assertEqual([webhook.got[0], webhook.got[-1]], [run.alerts[0], run.alerts[-1]])
        last = run.alerts[-1]
        self.assertEqual((last["status"], last["persistent"], last["updates"]), ("resolved", False, len(run.alerts) - 2))
        for before, after in zip(run.alerts[1:-2], run.alerts[2:-1]):
            self.assertGreaterEqual(after["updated_ns"] - before["updated_ns"], 1_000_000_000)
        code, text, problem = self.margay("alerts", "show", run.archive, alert["id"])
        self.assertEqual((code, problem), (0, ""), text)
        self.assertIn("identical", text)

    def test_what_makes_no_sense_is_said(self):
        for arguments, said in (
                (["ack", "x"], "no run is live here; say which archive is meant"),
                (["ack", self.place, "x"], "is neither a run that is live (margay runs) nor an archive"),
                (["silence", "--for", "2h"], "--node, --state or --kind"),
                (["silence", "--node", "rank3", "--for", "2h"], "begins with '/'"),
                (["silence", "--node", "/"], "for how long? either --for 2h, or --until 18:00"),
                (["silence", "--node", "/", "--for", "2h", "--until", "18:00"], "for how long? either"),
                (["silence", "--node", "/", "--for", "soon"], "--for"),
                (["silence", "--node", "/", "--for", "0"], "--for 0: expected longer"),
                (["silence", "--node", "/", "--until", "2020-01-01 10:00"], "is over already"),
                (["silence", "--node", "/", "--from", "2020-01-01 10:00", "--for", "2h"], "--from: 2020-01-01 10:00: is over"),
                (["silence", "--node", "/", "--from", "2h", "--for", "2h"], "--from: 2h: expected a time such as 18:00"),
                (["silence", "--node", "/", "--from", "2098-01-02 10:00", "--until", "2098-01-01 10:00"],
                 "--until 2098-01-01 10:00: expected later than --from 2098-01-02 10:00"),
                (["silence", "--node", "/", "--from", "18:00"], "for how long? either --for 2h, or --until 18:00"),
                (["silence", "--node", "/", "--until", "tomorrow\x1b[31m"], "expected a time such as 18:00"),
                (["silence", "--kind", "earthquake", "--for", "2h"], "is no kind of alert: perturbation, stall"),
                (["silence", "--node", "/" + "x" * 5000, "--for", "2h"], "1024 bytes"),
                (["silence", "--node", "/", "--for", "2h", "--comment", "x" * 9999], "500 bytes"),
                (["ack", "x" * 9999], "give the id of an alert or silence; the end of the id is enough"),
                (["unsilence", ""], "give the id of an alert or silence; the end of the id is enough"),
                (["silences", os.path.join(self.place, "nothing")], "neither a run that is live")):
            code, text, problem = self.margay("alerts", *arguments)
            self.assertEqual((code, text), (1, ""), arguments)
            self.assertIn(said, problem)
            self.assertNotIn("\x1b", problem)
        run = self.start_job()
        for arguments, said in (
                (["ack", run.name, "no-such"], "no alert 'no-such' fires: none is firing"),
                (["unsilence", run.name, "s7"], "no silence 's7' (any more)"),
                (["unack", run.name, "no-such"], "no alert 'no-such' is acknowledged: none is"),
                (["silence", run.archive, "--node", "/", "--from", "2098-01-02 10:00", "--for", "2h"], "within a year"),
                (["silence", run.archive, "--node", "/", "--for", "400d"], "a year at most")):
            code, text, problem = self.margay("alerts", *arguments)
            self.assertEqual((code, text), (1, ""), arguments)
            self.assertIn(said, problem)
        self.assertEqual(self.done("alerts", "silences"), "no silences\n")
        self.end_job(run)
        code, _, problem = self.margay("alerts", "silence", run.archive, "--node", "/", "--for", "2h")
        self.assertEqual(code, 1)
        self.assertIn("this run is over", problem)


if __name__ == "__main__":
    unittest.main()
