// libzmq, libsodium, which decrypts for it, and RocksDB are not built for the thread sanitizer, which does
// not see how their threads hand things on to each other. Programs that link this file leave out races inside
// them; everything else is reported.
extern "C" const char* __tsan_default_suppressions();
extern "C" const char* __tsan_default_suppressions() {
  return "race:libzmq.so\ncalled_from_lib:libzmq.so\nrace:libsodium.so\nrace:librocksdb\n"
         "race:margay::store::Database::scan\nrace:margay::store::ArchiveReader::scan_columns\n"
         "race:margay::store::JoinedSlices::find\n";
}
