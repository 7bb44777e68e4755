// libzmq is not built for the thread sanitizer, which does not see how its threads hand things on to each
// other. Programs that link this file leave out races inside it; everything else is reported.
extern "C" const char* __tsan_default_suppressions();
extern "C" const char* __tsan_default_suppressions() {
  return "race:libzmq.so\ncalled_from_lib:libzmq.so\n";
}
