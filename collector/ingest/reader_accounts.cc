#include "margay/ingest/reader_accounts.h"

namespace margay::ingest {

void ReaderAccounts::receive(const wire::ReaderAccount& account, const Sender& from) {
  const std::pair reader(from.owner, from.number);
  auto it = told_.find(reader);
  if (it == told_.end()) {
    if (told_.size() >= kMostReaders) {
      ++counters_.refused_by_limit;
      return;
    }
    it = told_.emplace(reader, MessageCounters::Readers{}).first;
  }
  const auto take = [&](std::uint64_t MessageCounters::Readers::*member, std::uint64_t told) {
    std::uint64_t& before = it->second.*member;
    if (told <= before) return;
    counters_.readers.*member += told - before;
    before = told;
  };
  using R = MessageCounters::Readers;
  take(&R::seen, account.seen());
  take(&R::used, account.used());
  take(&R::ignored, account.ignored());
  take(&R::unmatched, account.unmatched());
  take(&R::unbalanced, account.unbalanced());
  take(&R::too_deep, account.too_deep());
  take(&R::left_out, account.left_out());
  take(&R::discarded, account.discarded());
}

}  // namespace margay::ingest
