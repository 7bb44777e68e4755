// The thread sanitizer does not see the atomics of a RocksDB that was built without it, and takes its
// memtables for races: where RocksDB copies out of them, and where Database::scan, scan_columns and
// JoinedSlices::find read keys and values that lie in them. Only these are left out; the queue's test, which
// has no RocksDB in it, leaves out nothing.
extern "C" const char* __tsan_default_suppressions();
extern "C" const char* __tsan_default_suppressions() {
  return "race:librocksdb\nrace:margay::store::Database::scan\n"
         "race:margay::store::ArchiveReader::scan_columns\nrace:margay::store::JoinedSlices::find\n";
}
