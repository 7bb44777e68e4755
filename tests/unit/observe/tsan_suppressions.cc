// Two threads of Debian's civetweb date their answers with gmtime(), which shares its result: a date may come
// out wrong in an answer that the library makes itself. Only races inside it are left out.
extern "C" const char* __tsan_default_suppressions();
extern "C" const char* __tsan_default_suppressions() {
  return "race:libcivetweb\n";
}
