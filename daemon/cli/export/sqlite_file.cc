#include "sqlite_file.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <limits>

#include "margay/base/text.h"

namespace margay::daemon {
namespace {

std::string sql_name(std::string_view name) {
  std::string out = "\"";
  for (const char c : name) out.append(c == '"' ? 2 : 1, c);
  return out + '"';
}

// Of a moment: begin_s -> begin_ns.
std::string trace_time_name(std::string_view name) {
  return std::string(name.substr(0, name.size() - 2)) + "_ns";
}

std::string create_statement(const Table& table, TimeNs zero) {
  std::string out = "CREATE TABLE " + sql_name(table.name) + " (";
  for (const Column& c : table.columns) {
    const std::string name(c.name);
    if (&c != &table.columns.front()) out += ", ";
    switch (c.kind) {
      case Column::Kind::kText:
        out += sql_name(name) + " TEXT";
        break;
      case Column::Kind::kInteger:
      case Column::Kind::kYesNo:
        out += sql_name(name) + " INTEGER";
        break;
      case Column::Kind::kReal:
      case Column::Kind::kShortReal:
        out += sql_name(name) + " REAL";
        break;
      case Column::Kind::kMoment: {
        const std::string ns = sql_name(trace_time_name(name));
        // The nearest double, which is what a program reads in CSV.
        out += ns;
        out += " INTEGER, ";
        out += sql_name(name);
        out += " REAL GENERATED ALWAYS AS ((";
        out += ns;
        out += " - ";
        out += std::to_string(zero.value);
        out += ") / 1e9) VIRTUAL";
        break;
      }
    }
  }
  return out + ")";
}

std::string insert_statement(const Table& table) {
  std::string names, values;
  for (const Column& c : table.columns) {
    const bool first = names.empty();
    names +=
        (first ? "" : ", ") + sql_name(c.kind == Column::Kind::kMoment ? trace_time_name(c.name) : c.name);
    values += first ? "?" : ", ?";
  }
  return "INSERT INTO " + sql_name(table.name) + " (" + names + ") VALUES (" + values + ")";
}

std::string index_statement(const Table& table, std::string_view columns) {
  std::string name = std::string(table.name) + "_";
  for (const char c : columns)
    if (c != '"' && c != ' ') name += c == ',' ? '_' : c;
  return "CREATE INDEX " + sql_name(name) + " ON " + sql_name(table.name) + " (" + std::string(columns) + ")";
}

struct Bind {
  sqlite3_stmt* statement;
  int at;

  int operator()(std::monostate) const { return sqlite3_bind_null(statement, at); }
  int operator()(const std::string& given) const {
    const bool plain = std::all_of(given.begin(), given.end(), [](char c) { return c >= ' ' && c <= '~'; });
    const std::string text = plain ? std::string() : clean_utf8(given);
    const std::string& t = plain ? given : text;
    // Of the row, which stays until the statement has run; what was cleaned does not.
    return sqlite3_bind_text(statement, at, t.data(), static_cast<int>(t.size()),
                             plain ? SQLITE_STATIC : SQLITE_TRANSIENT);
  }
  int operator()(std::int64_t n) const { return sqlite3_bind_int64(statement, at, n); }
  int operator()(std::uint64_t n) const {
    return n <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())
               ? sqlite3_bind_int64(statement, at, static_cast<std::int64_t>(n))
               : sqlite3_bind_double(statement, at, static_cast<double>(n));
  }
  int operator()(double x) const { return sqlite3_bind_double(statement, at, x); }
  int operator()(TimeNs t) const { return sqlite3_bind_int64(statement, at, t.value); }
  int operator()(bool yes) const { return sqlite3_bind_int(statement, at, yes ? 1 : 0); }
};

}  // namespace

SqliteFile::SqliteFile(std::string path, TimeNs zero)
    : path_(std::move(path)), partial_(path_ + ".partial"), zero_(zero) {}

Result<std::unique_ptr<SqliteFile>> SqliteFile::create(const std::string& path, TimeNs zero) {
  std::unique_ptr<SqliteFile> out(new SqliteFile(path, zero));
  if (Status ok = out->open(); !ok) return tl::unexpected(ok.error());
  return out;
}

SqliteFile::~SqliteFile() {
  close();
  if (there_) ::unlink(partial_.c_str());
}

void SqliteFile::close() {
  sqlite3_finalize(insert_);
  insert_ = nullptr;
  sqlite3_close(db_);
  db_ = nullptr;
}

// What the system said of the file's last write that failed says more than SQLite's word for it.
Status SqliteFile::failed(int code) {
  int why = 0;
  if (db_ == nullptr || sqlite3_file_control(db_, "main", SQLITE_FCNTL_LAST_ERRNO, &why) != SQLITE_OK)
    why = 0;
  return fail(ErrorCode::kIo,
              path_ + ": could not be written: " + (why != 0 ? std::strerror(why) : sqlite3_errstr(code)));
}

Status SqliteFile::run(const std::string& sql) {
  const int code = sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? Status() : failed(code);
}

Status SqliteFile::open() {
  // A file of ours alone, whatever is there. SQLite takes names that begin with "file:" for another thing.
  if (::unlink(partial_.c_str()) != 0 && errno != ENOENT)
    return fail(ErrorCode::kIo, partial_ + ": " + std::strerror(errno));
  const int file = ::open(partial_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file < 0) return fail(ErrorCode::kIo, partial_ + ": " + std::strerror(errno));
  there_ = true;
  ::close(file);
  std::error_code error;
  const std::filesystem::path whole = std::filesystem::absolute(partial_, error);
  if (error) return fail(ErrorCode::kIo, partial_ + ": " + error.message());
  ::setenv("SQLITE_TMPDIR", whole.parent_path().c_str(), 1);
  const int code = sqlite3_open_v2(whole.c_str(), &db_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
  if (code != SQLITE_OK) return failed(code);
  return run(
      "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE;"
      "PRAGMA cache_size=-65536; PRAGMA temp_store=FILE; PRAGMA user_version=" +
      std::to_string(kSchema) + "; BEGIN");
}

Status SqliteFile::make(const Table& table) {
  for (const char* columns : table.indices) indices_.push_back(index_statement(table, columns));
  return run(create_statement(table, zero_));
}

Status SqliteFile::fill(const Table& table) {
  sqlite3_finalize(insert_);
  insert_ = nullptr;
  const std::string sql = insert_statement(table);
  const int code = sqlite3_prepare_v3(db_, sql.c_str(), -1, SQLITE_PREPARE_PERSISTENT, &insert_, nullptr);
  return code == SQLITE_OK ? Status() : failed(code);
}

Status SqliteFile::add(const Row& row) {
  int at = 0;
  for (const Field& field : row)
    if (const int code = std::visit(Bind{insert_, ++at}, field); code != SQLITE_OK) return failed(code);
  if (const int code = sqlite3_step(insert_); code != SQLITE_DONE) return failed(code);
  if (const int code = sqlite3_reset(insert_); code != SQLITE_OK) return failed(code);
  return {};
}

Status SqliteFile::clear(const Table& table) {
  return run("DELETE FROM " + sql_name(table.name));
}

Status SqliteFile::commit() {
  sqlite3_finalize(insert_);
  insert_ = nullptr;
  for (const std::string& index : indices_)
    if (Status ok = run(index); !ok) return ok;
  if (Status ok = run("COMMIT"); !ok) return ok;
  if (const int code = sqlite3_close(db_); code != SQLITE_OK) return failed(code);
  db_ = nullptr;
  const auto wrong = [&] {
    return fail(ErrorCode::kIo, path_ + ": could not be written: " + std::strerror(errno));
  };
  const int file = ::open(partial_.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return wrong();
  const bool synced = ::fsync(file) == 0 || errno == EINVAL;
  const int why = errno;
  ::close(file);
  errno = why;
  if (!synced || std::rename(partial_.c_str(), path_.c_str()) != 0) return wrong();
  there_ = false;
  return {};
}

}  // namespace margay::daemon
