# Where the time goes in each phase: the mean share of each state, over all ranks, in each phase. Reads what margay
# export writes, either of the two (SQLite by the tool sqlite3; with the package RSQLite: dbReadTable):
#
#     margay export RUN --format csv --output TABLES;        Rscript phases.R TABLES [PLOT.pdf]
#     margay export RUN --format sqlite --output RUN.sqlite; Rscript phases.R RUN.sqlite [PLOT.pdf]
arguments <- commandArgs(trailingOnly = TRUE)
source <- arguments[1]
table <- function(name) {
  if (dir.exists(source)) return(read.csv(file.path(source, paste0(name, ".csv"))))
  read.csv(pipe(paste("sqlite3 -readonly -csv -header", shQuote(source), shQuote(paste("SELECT * FROM", name)))))
}
cells <- table("cells")
phases <- table("phases")

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

if (length(arguments) > 1) {
  shares <- xtabs(share ~ state + phase, time)
  pdf(arguments[2], width = 8, height = 5)
  barplot(shares, legend.text = TRUE, col = hcl.colors(nrow(shares), "Set 2"), xlab = "phase", ylab = "share of the time",
          xlim = c(0, 1.2 * ncol(shares) + 4), args.legend = list(bty = "n", cex = 0.8))
  invisible(dev.off())
}
