# Where the time goes in each phase, from the tables of `margay export RUN --format csv --output TABLES`:
# the mean share of each state, over all ranks, in each phase.
#
#     Rscript phases.R TABLES
tables <- commandArgs(trailingOnly = TRUE)[1]
cells <- read.csv(file.path(tables, "cells.csv"))
phases <- read.csv(file.path(tables, "phases.csv"))

# A slice belongs to the phase that holds its middle; what did not exist, and what is not known, is left out.
cells <- cells[!cells$state %in% c("Absent", "Unknown"), ]
slice_s <- max(aggregate(duration_ns ~ slice + resource, cells, sum)$duration_ns) / 1e9
middle <- cells$time_s + slice_s / 2
cells$phase <- NA
for (i in seq_len(nrow(phases)))
  cells$phase[middle >= phases$begin_s[i] & middle < phases$end_s[i]] <- phases$name[i]
time <- aggregate(duration_ns ~ state + phase, cells, sum)
time$share <- time$duration_ns / ave(time$duration_ns, time$phase, FUN = sum)
time <- time[order(time$phase, time$state, method = "radix"), ]
cat(sprintf("%s %s %.6f\n", time$phase, time$state, time$share), sep = "")
