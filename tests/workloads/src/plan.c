/* Options of margay-workload. */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "workload.h"

static const char kHelp[] =
    "margay-workload: an MPI program whose phases and faults are known exactly.\n"
    "\n"
    "  mpirun -np 4 margay-workload                                  the default plan, 23 s\n"
    "  mpirun -np 4 margay-workload --plan A:3,B:3,A:3 --truth t.jsonl\n"
    "  mpirun -np 4 margay-workload --plan A:20 --fault stop:2:8:1   rank 2 stopped at 8 s for 1 s\n"
    "\n"
    "  --plan NAME:SECONDS,...      phases in their order (default A:5,B:4,A:5,C:4,A:5)\n"
    "       NAME:COUNTi,...         or as many iterations: the same work each time\n"
    "  --define NAME=PATTERN        what a phase does. Patterns and the names that have them by default:\n"
    "         A=cg        neighbours by Isend, Irecv, Wait; MPI_Allreduce every iteration\n"
    "         B=lu        pipelined sweeps there and back, blocking MPI_Send and MPI_Recv, small messages\n"
    "         C=stencil   halo exchange, Isend, Irecv, MPI_Waitall; MPI_Bcast every 4th iteration\n"
    "         D=alltoall  MPI_Alltoall every iteration\n"
    "         E=compute   arithmetic; MPI_Barrier and MPI_Bcast about every 50 ms\n"
    "         F=io        sleeps for 90 % of the time, or writes files as well (--io-file)\n"
    "  --grain MS                   computation per iteration and rank (default 2; 0.01 to 1000)\n"
    "  --loops N                    loops per millisecond, instead of measuring the processor's speed\n"
    "  --mode dense|sparse          sparse: 25 iterations' work between communications, so few MPI calls\n"
    "  --sleep                      sleeps instead of computing: each of many ranks as if it had a core to "
    "itself\n"
    "  --uneven SHARE               rank 0 computes all of it, the last rank that much less, the others "
    "between\n"
    "  --heavier NAME:RANK:PERCENT  so much more work of a rank in the phases of that name; repeatable\n"
    "  --pcontrol                   MPI_Pcontrol(1, name) and MPI_Pcontrol(-1, name) around each phase\n"
    "  --io-file PREFIX             io phases write PREFIX.RANK through MPI_File (removed afterwards)\n"
    "  --fault KIND:RANK:AT:FOR     a fault on a rank, AT seconds after the start for FOR seconds; "
    "repeatable\n"
    "         stop        SIGSTOP, then SIGCONT by a helper process (AT is when the rank next computes)\n"
    "         slow        computes 3 times as much\n"
    "         sleep       sleeps once for that long inside an iteration\n"
    "         imbalance   computes 1.5 times as much, the others less: the sum stays\n"
    "  --truth FILE                 one JSON object a line, written as it happens:\n"
    "         "
    "{\"kind\":\"phase\",\"name\":\"A\",\"pattern\":\"cg\",\"begin_ns\":..,\"end_ns\":..,\"iterations\":..}\n"
    "         {\"kind\":\"fault\",\"fault\":\"stop\",\"rank\":2,\"begin_ns\":..,\"end_ns\":..}\n"
    "\n"
    "At the end rank 0 prints, in nanoseconds of CLOCK_REALTIME, half-open [begin, end):\n"
    "  phase A 1700000000000000000 1700000005000000000     rank 0's clock; phases touch\n"
    "  fault stop rank 2 BEGIN END                         by the clock of the rank concerned\n"
    "  spread NS                                           how far apart the ranks left a phase, at most\n"
    "Where cores are scarce: OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1.\n";

static const char* const kPatterns[kPatternCount] = {"cg", "lu", "stencil", "alltoall", "compute", "io"};
static const char* const kFaults[] = {"stop", "slow", "sleep", "imbalance"};

const char* pattern_name(enum pattern pattern) {
  return kPatterns[pattern];
}
const char* fault_name(enum fault_kind kind) {
  return kFaults[kind];
}

static bool g_loud;

static int bad(const char* format, ...) __attribute__((format(printf, 1, 2)));
static int bad(const char* format, ...) {
  if (g_loud) {
    va_list args;
    va_start(args, format);
    fprintf(stderr, "margay-workload: ");
    vfprintf(stderr, format, args);
    fprintf(stderr, " (--help explains)\n");
    va_end(args);
  }
  return 2;
}

static bool number(const char* text, double least, double most, double* value) {
  char* end = NULL;
  const double v = strtod(text, &end);
  if (end == text || *end != '\0' || !(v >= least && v <= most)) return false;
  *value = v;
  return true;
}

/* Names end up in lines separated by blanks and in JSON, so they are letters, digits, _ and -. */
static bool good_name(const char* text) {
  const size_t length = strlen(text);
  if (length == 0 || length >= kNameSize) return false;
  for (size_t i = 0; i < length; ++i) {
    if (!isalnum((unsigned char)text[i]) && text[i] != '_' && text[i] != '-') return false;
  }
  return true;
}

static int find_name(const struct workload* w, const char* text) {
  for (int i = 0; i < w->name_count; ++i) {
    if (strcmp(w->names[i].text, text) == 0) return i;
  }
  return -1;
}

static int define(struct workload* w, const char* text, const char* pattern) {
  if (!good_name(text)) return bad("--define: bad name '%s'", text);
  int p = 0;
  while (p < kPatternCount && strcmp(kPatterns[p], pattern) != 0) ++p;
  if (p == kPatternCount) return bad("--define: no pattern '%s'", pattern);
  int i = find_name(w, text);
  if (i < 0) {
    if (w->name_count == kMaxNames) return bad("--define: more than %d names", kMaxNames);
    i = w->name_count++;
    snprintf(w->names[i].text, kNameSize, "%s", text);
  }
  w->names[i].pattern = (enum pattern)p;
  return 0;
}

static int parse_plan(struct workload* w, const char* plan) {
  char* copy = strdup(plan);
  if (copy == NULL) return bad("out of memory");
  int verdict = 0;
  char* save = NULL;
  w->phase_count = 0;
  for (char* part = strtok_r(copy, ",", &save); part != NULL && verdict == 0;
       part = strtok_r(NULL, ",", &save)) {
    const char* colon = strchr(part, ':');
    char text[kNameSize] = "";
    if (colon != NULL && colon - part < kNameSize) memcpy(text, part, (size_t)(colon - part));
    const int name = find_name(w, text);
    double amount = 0;
    const size_t length = strlen(part);
    const bool counted = part[length - 1] == 'i';
    if (counted) part[length - 1] = '\0';
    if (colon == NULL || !number(colon + 1, counted ? 1 : 0, counted ? 1e9 : 1e6, &amount)) {
      verdict = bad("--plan: '%s' is neither NAME:SECONDS nor NAME:COUNTi", part);
    } else if (name < 0) {
      verdict = bad("--plan: no phase for '%s', --define it", part);
    } else if (w->phase_count == kMaxPhases) {
      verdict = bad("--plan: more than %d phases", kMaxPhases);
    } else {
      w->phases[w->phase_count++] = (struct phase){
          .name = name, .seconds = counted ? 0 : amount, .most = counted ? (int64_t)amount : 0};
    }
  }
  free(copy);
  if (verdict == 0 && w->phase_count == 0) verdict = bad("--plan: no phases");
  return verdict;
}

static int parse_fault(struct workload* w, const char* text) {
  if (w->fault_count == kMaxFaults) return bad("--fault: more than %d", kMaxFaults);
  char copy[128];
  if (strlen(text) >= sizeof(copy)) return bad("--fault: '%s' is too long", text);
  snprintf(copy, sizeof(copy), "%s", text);
  char* field[4] = {NULL};
  char* save = NULL;
  int fields = 0;
  for (char* part = strtok_r(copy, ":", &save); part != NULL; part = strtok_r(NULL, ":", &save)) {
    if (fields < 4) field[fields] = part;
    ++fields;
  }
  struct fault fault = {.helper_fd = -1};
  double rank = 0;
  if (fields != 4 || !number(field[1], 0, 1e6, &rank) || rank != (int)rank ||
      !number(field[2], 0, 1e6, &fault.at_s) || !number(field[3], 0.001, 1e6, &fault.for_s)) {
    return bad("--fault: '%s' is not KIND:RANK:AT:FOR", text);
  }
  fault.rank = (int)rank;
  int kind = 0;
  while (kind < 4 && strcmp(kFaults[kind], field[0]) != 0) ++kind;
  if (kind == 4) return bad("--fault: no kind '%s'", field[0]);
  fault.kind = (enum fault_kind)kind;
  w->faults[w->fault_count++] = fault;
  return 0;
}

static int parse_heavier(struct workload* w, const char* text) {
  if (w->heavier_count == kMaxHeavier) return bad("--heavier: more than %d", kMaxHeavier);
  char name[kNameSize] = "";
  const char* rank_at = strchr(text, ':');
  const char* percent_at = rank_at == NULL ? NULL : strchr(rank_at + 1, ':');
  if (percent_at == NULL || rank_at - text >= kNameSize || percent_at - rank_at >= kNameSize)
    return bad("--heavier: '%s' is not NAME:RANK:PERCENT", text);
  memcpy(name, text, (size_t)(rank_at - text));
  char digits[kNameSize] = "";
  memcpy(digits, rank_at + 1, (size_t)(percent_at - rank_at - 1));
  struct heavier heavier = {.name = find_name(w, name)};
  double rank = 0;
  if (heavier.name < 0 || !number(digits, 0, 1e6, &rank) || rank != (int)rank ||
      !number(percent_at + 1, -99, 1e4, &heavier.percent))
    return bad("--heavier: '%s' is not NAME:RANK:PERCENT of a name that is defined", text);
  heavier.rank = (int)rank;
  w->heavier[w->heavier_count++] = heavier;
  return 0;
}

int workload_options(struct workload* w, int argc, char** argv, bool loud) {
  static const char* const defaults[][2] = {{"A", "cg"},       {"B", "lu"},      {"C", "stencil"},
                                            {"D", "alltoall"}, {"E", "compute"}, {"F", "io"}};
  g_loud = loud;
  w->grain_ms = 2;
  w->sparse = 1;
  for (size_t i = 0; i < sizeof(defaults) / sizeof(defaults[0]); ++i)
    define(w, defaults[i][0], defaults[i][1]);

  const char* plan = "A:5,B:4,A:5,C:4,A:5";
  for (int i = 1; i < argc; ++i) {
    const char* option = argv[i];
    if (strcmp(option, "--help") == 0 || strcmp(option, "-h") == 0) {
      if (loud) fputs(kHelp, stdout);
      return 1;
    }
    if (strcmp(option, "--pcontrol") == 0) {
      w->pcontrol = true;
      continue;
    }
    if (strcmp(option, "--sleep") == 0) {
      w->sleeps = true;
      continue;
    }
    if (i + 1 == argc) return bad("unknown option or no value: '%s'", option);
    const char* value = argv[++i];
    int verdict = 0;
    if (strcmp(option, "--plan") == 0) {
      plan = value; /* read last: a --define may follow */
    } else if (strcmp(option, "--define") == 0) {
      const char* equals = strchr(value, '=');
      char name[kNameSize] = "";
      if (equals == NULL || equals - value >= kNameSize)
        return bad("--define: '%s' is not NAME=PATTERN", value);
      memcpy(name, value, (size_t)(equals - value));
      verdict = define(w, name, equals + 1);
    } else if (strcmp(option, "--fault") == 0) {
      verdict = parse_fault(w, value);
    } else if (strcmp(option, "--heavier") == 0) {
      verdict = parse_heavier(w, value);
    } else if (strcmp(option, "--grain") == 0) {
      if (!number(value, 0.01, 1000, &w->grain_ms)) verdict = bad("--grain: '%s' is not 0.01 to 1000", value);
    } else if (strcmp(option, "--loops") == 0) {
      if (!number(value, 0.001, 1e9, &w->loops_per_ms)) verdict = bad("--loops: '%s' is no count", value);
    } else if (strcmp(option, "--uneven") == 0) {
      if (!number(value, 0, 1, &w->uneven)) verdict = bad("--uneven: '%s' is not 0 to 1", value);
    } else if (strcmp(option, "--mode") == 0) {
      if (strcmp(value, "sparse") == 0) {
        w->sparse = 25;
      } else if (strcmp(value, "dense") == 0) {
        w->sparse = 1;
      } else {
        verdict = bad("--mode: '%s' is neither dense nor sparse", value);
      }
    } else if (strcmp(option, "--truth") == 0) {
      w->truth_path = value;
    } else if (strcmp(option, "--io-file") == 0) {
      w->io_path = value;
    } else {
      verdict = bad("unknown option '%s'", option);
    }
    if (verdict != 0) return verdict;
  }
  return parse_plan(w, plan);
}
