// A reader, as an example: margay-steps follows a file to which a program appends a line for each change of
// state, "rank0 solve", and sends what it reads as states of threads of that program.
#include <CLI/CLI.hpp>
#include <fstream>
#include <map>
#include <string>

#include "margay/reader/program.h"

namespace {

using namespace margay;

constexpr int kMostAtOnce = 10'000;  // lines: the collector must not wait for us

class StepsReader final : public reader::Reader {
 public:
  void add_flags(CLI::App& app) override {
    app.add_option("--file", file_, "The file that the program appends its lines to")->required();
    app.add_option("--pid", pid_, "The program")->required();
  }

  Status begin(reader::Streams& streams, const Clock& clock) override {
    in_.open(file_);
    if (!in_) return fail(ErrorCode::kNotFound, file_ + ": cannot be read");
    clock_ = &clock;
    process_ = streams.process(pid_, "steps");
    return {};
  }

  Result<bool> read() override {
    const TimeNs now = clock_->monotonic();
    std::string line;
    for (int i = 0; i < kMostAtOnce; ++i) {
      const auto at = in_.tellg();
      if (!std::getline(in_, line) || in_.eof()) {  // the last line may have no end yet
        in_.clear();
        in_.seekg(at);
        streams().cover(now);
        return false;
      }
      take(line, now);
    }
    return true;
  }

  void account(wire::ReaderAccount& account) const override {
    account.set_seen(lines_);
    account.set_used(lines_ - malformed_);
    account.set_unmatched(malformed_);
  }

 private:
  struct Thread {
    reader::ThreadId id{};
    reader::NameId state{};
  };

  void take(const std::string& line, TimeNs now) {
    ++lines_;
    const std::size_t gap = line.find(' ');
    if (gap == 0 || gap == std::string::npos) {
      ++malformed_;
      return;
    }
    const auto [at, fresh] = threads_.try_emplace(line.substr(0, gap));
    Thread& thread = at->second;
    if (fresh)
      thread.id =
          streams().begin_thread(process_, static_cast<std::int64_t>(threads_.size()), at->first, now);
    else
      streams().leave(thread.id, thread.state, now);
    thread.state = streams().name(line.substr(gap + 1), reader::NameKind::kState);
    streams().enter(thread.id, thread.state, now);
  }

  std::string file_;
  std::int64_t pid_ = 0;
  std::ifstream in_;
  const Clock* clock_ = nullptr;
  reader::ProcessId process_{};
  std::map<std::string, Thread> threads_;
  std::uint64_t lines_ = 0, malformed_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  StepsReader reader;
  return reader::run_program({"margay-steps",
                              "margay-steps reads a program's changes of state from a file that it appends\n"
                              "them to, live, and sends them to a run's collector:\n\n"
                              "  margay-steps --run-dir DIR --run NAME --file steps.log --pid 4711",
                              "steps"},
                             reader, argc, argv);
}
