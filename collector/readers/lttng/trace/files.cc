#include "files.h"

#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "margay/lttng_trace/trace_reader.h"

namespace margay::lttng {
namespace {

namespace fs = std::filesystem;

constexpr int kDepth = 16;
constexpr std::size_t kMetadataHead = 64
                                      << 10;  // the declarations of trace, env and packet header come first
constexpr std::size_t kMostFiles = 100'000;   // of one trace
constexpr char kPacketed[] = "\x57\x1d\xd1\x75";  // magic of metadata in packets, little endian
constexpr char kPacketedBig[] = "\x75\xd1\x1d\x57";

std::string hex_only(std::string_view text) {
  std::string out;
  for (const char c : text)
    if (std::isxdigit(static_cast<unsigned char>(c)) != 0)
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

// Babeltrace divides by each clock's frequency, and has none where it does not understand the line.
bool has_broken_clock(const std::string& head) {
  for (std::size_t at = 0; (at = head.find("clock {", at)) != std::string::npos; ++at) {
    const std::string clock = head.substr(at, head.find('}', at) - at);
    const std::size_t line = clock.find("freq = ");
    const char before = line == std::string::npos ? 'x' : clock[line - 1];
    if (before != ' ' && before != '\t' && before != '\n') return true;
    const std::size_t end = clock.find(';', line);
    const std::string number = clock.substr(line + 7, end == std::string::npos ? 0 : end - line - 7);
    if (number.empty() || number.size() > 18 || number.find_first_not_of("0123456789") != std::string::npos ||
        number.find_first_not_of('0') == std::string::npos)
      return true;
  }
  return false;
}

// What the begin of the metadata says, without parsing it.
TraceDirectory look_at(const fs::path& path) {
  TraceDirectory out;
  out.path = path.string();
  std::string head(kMetadataHead, '\0');
  std::ifstream file(path / "metadata", std::ios::binary);
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  if (head.size() > 20 && (head.starts_with(kPacketed) || head.starts_with(kPacketedBig))) {
    constexpr char kDigits[] = "0123456789abcdef";
    for (std::size_t i = 4; i < 20; ++i) {
      const auto byte = static_cast<unsigned char>(head[i]);
      out.uuid += kDigits[byte >> 4U];
      out.uuid += kDigits[byte & 15U];
    }
  } else if (const std::size_t trace = head.find("trace {"); trace != std::string::npos) {
    const std::size_t uuid = head.find("uuid = \"", trace);
    if (uuid != std::string::npos && uuid < head.find('}', trace))
      out.uuid = hex_only(head.substr(uuid + 8, 36));
    if (out.uuid.size() != 32) out.uuid.clear();
  }
  out.lttng = head.find("tracer_name = \"lttng-") != std::string::npos;
  if (out.lttng && has_broken_clock(head)) out.damage = "its metadata has a clock without a frequency";
  out.instances = head.find("stream_instance_id") != std::string::npos;
  return out;
}

std::vector<std::string> stream_files(const std::string& directory) {
  std::vector<std::string> out;
  std::error_code ec;
  for (fs::directory_iterator it(directory, ec), end; !ec && it != end && out.size() < kMostFiles;
       it.increment(ec)) {
    const std::string name = it->path().filename().string();
    std::error_code no;
    if (name == "metadata" || name.starts_with(".") || !it->is_regular_file(no)) continue;
    if (const auto size = it->file_size(no); !no && size > 0) out.push_back(name);
  }
  std::sort(out.begin(), out.end());
  return out;
}

struct Looked {
  std::string name;
  PacketScan scan;
  bool own_index = false;   // Babeltrace is given one of ours
  bool with_index = false;  // Babeltrace may use the trace's
};

Status make_links(const std::string& from, const std::vector<Looked>& files, const std::string& to) {
  std::error_code ec;
  fs::create_directory(to + "/index", ec);
  const auto link = [&](const std::string& name) {
    if (!ec) fs::create_symlink(fs::absolute(from, ec) / name, fs::path(to) / name, ec);
  };
  link("metadata");
  for (const Looked& file : files) {
    link(file.name);
    const std::string index = "index/" + file.name + ".idx";
    if (file.own_index) {
      if (Status s = write_index(to + "/" + index, file.scan); !s) return s;
    } else if (file.with_index) {
      link(index);
    }
  }
  if (ec) return fail(ErrorCode::kIo, to + ": links cannot be made: " + ec.message());
  return {};
}

void add_facts(Input& input, const std::string& path, const PacketScan& scan) {
  StreamFacts& facts = input.streams[{scan.stream_class, scan.instance}];
  if (facts.place.empty() || (facts.damage.empty() && !scan.damage.empty())) {
    facts.place = path;
    facts.damage = scan.damage;
  }
  facts.packets.insert(facts.packets.end(), scan.packets.begin(), scan.packets.end());
}

}  // namespace

Result<std::vector<TraceDirectory>> find_traces(const std::string& directory) {
  std::error_code ec;
  if (!fs::is_directory(directory, ec)) return fail(ErrorCode::kNotFound, directory + ": no such directory");
  std::vector<TraceDirectory> out;
  const auto consider = [&out](const fs::path& path) {
    std::error_code no;
    if (!fs::is_regular_file(path / "metadata", no)) return;
    // Nothing was traced: the tracer had not begun to write it.
    if (fs::file_size(path / "metadata", no) == 0 && stream_files(path.string()).empty()) return;
    out.push_back(look_at(path));
  };
  consider(directory);
  for (fs::recursive_directory_iterator it(directory, fs::directory_options::skip_permission_denied, ec), end;
       !ec && it != end; it.increment(ec)) {
    std::error_code no;
    if (!it->is_directory(no) || it->is_symlink(no)) continue;
    if (it.depth() >= kDepth) it.disable_recursion_pending();
    consider(it->path());
    if (out.size() > TraceReader::kMostTraces)
      return fail(ErrorCode::kLimit, directory + ": more than " + std::to_string(TraceReader::kMostTraces) +
                                         " traces are below it");
  }
  if (ec) return fail(ErrorCode::kIo, directory + ": cannot be read: " + ec.message());
  if (out.empty())
    return fail(ErrorCode::kNotFound,
                directory + ": there is no trace in it or below it (a directory with a file named metadata)");
  std::sort(out.begin(), out.end(),
            [](const TraceDirectory& a, const TraceDirectory& b) { return a.path < b.path; });
  return out;
}

Links::~Links() {
  std::error_code ec;
  if (!path_.empty()) fs::remove_all(path_, ec);
}

Result<std::string> Links::make() {
  std::error_code ec;
  if (path_.empty()) {
    std::string name =
        (scratch_.empty() ? fs::temp_directory_path(ec) : fs::path(scratch_)) / "margay-trace-XXXXXX";
    if (mkdtemp(name.data()) == nullptr)
      return fail(ErrorCode::kIo, name + ": a directory cannot be made there");
    path_ = name;
  }
  const std::string made = path_ + "/" + std::to_string(count_++);
  fs::create_directory(made, ec);
  if (ec) return fail(ErrorCode::kIo, made + ": cannot be made: " + ec.message());
  return made;
}

std::vector<Input> group(std::vector<TraceDirectory> directories) {
  std::vector<Input> out;
  std::map<std::string, std::size_t> by_uuid;
  for (TraceDirectory& d : directories) {
    std::size_t at = out.size();
    if (!d.uuid.empty()) at = by_uuid.try_emplace(d.uuid, at).first->second;
    if (at == out.size()) out.emplace_back();
    out[at].directories.push_back(std::move(d));
  }
  return out;
}

Status prepare(Input& input, Links& links) {
  input.given.clear();
  input.streams.clear();
  input.lost.clear();
  for (const TraceDirectory& d : input.directories) {
    std::vector<Looked> files;
    bool sound = true;
    for (const std::string& name : stream_files(d.path)) {
      const std::string path = d.path + "/" + name;
      if (std::find(input.left_out.begin(), input.left_out.end(), path) != input.left_out.end()) {
        sound = false;
        continue;
      }
      Looked file{name, {}, false, !d.lttng};
      if (d.lttng) {
        auto scan = scan_packets_untrusted(path, d.instances, d.uuid);
        if (!scan || scan->packets.empty()) {
          input.lost.push_back({path, scan ? scan->damage : scan.error().message});
          sound = false;
          continue;
        }
        file.scan = std::move(*scan);
        const std::string index = d.path + "/index/" + name + ".idx";
        file.own_index = !file.scan.damage.empty();
        file.with_index = !file.own_index && index_fits_untrusted(index, file.scan);
        std::error_code no;
        sound = sound && !file.own_index && (file.with_index || !fs::exists(index, no));
        add_facts(input, path, file.scan);
      }
      files.push_back(std::move(file));
    }
    input.given.push_back(d.path);
    if (sound) continue;
    auto made = links.make();
    if (!made) return tl::unexpected(made.error());
    if (Status s = make_links(d.path, files, *made); !s) return s;
    input.given.back() = *made;
  }
  for (auto& [key, facts] : input.streams)
    std::stable_sort(facts.packets.begin(), facts.packets.end(),
                     [](const Packet& a, const Packet& b) { return a.begin < b.begin; });
  return {};
}

}  // namespace margay::lttng
