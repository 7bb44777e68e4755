// Answers to questions about events, of a daemon that never was.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "margay/scene/event_pages.h"

namespace margay::scene {

inline constexpr std::int64_t kFirstBegin = 1'000'000'000,
                              kLength = 1'000'000;  // of a row; they follow each other

inline void add_row(wire::EventsAnswer& a, std::int64_t begin, std::int64_t length) {
  a.add_resource(0);
  a.add_name(0);
  a.add_kind(0);
  a.add_depth(0);
  a.add_begin_ns(begin - a.question().from_ns());
  a.add_length_ns(static_cast<std::uint64_t>(length));
  a.add_calls(1);
  a.add_longest_ns(0);
  a.add_bytes(0);
  a.add_peer(-1);
  a.add_tag(-1);
  a.add_communicator(0);
  a.add_flags(0);
}

inline wire::EventsAnswer answer(std::int64_t from = kFirstBegin, std::int64_t to = 2 * kFirstBegin) {
  wire::EventsAnswer a;
  a.mutable_question()->set_from_ns(from);
  a.mutable_question()->set_to_ns(to);
  a.set_zero_ns(kFirstBegin);
  a.set_exact(true);
  a.set_read_until_ns(to);
  a.add_resources("/a/r1");
  a.add_names()->set_name("MPI_Send");
  a.mutable_names(0)->set_family(wire::FAMILY_POINT_TO_POINT);
  return a;
}

inline EventPagePtr checked(const wire::EventsAnswer& a) {
  auto page = event_page_untrusted(a);
  EXPECT_TRUE(page) << page.error().message;
  return page ? std::make_shared<const EventPage>(std::move(*page)) : nullptr;
}

// A daemon of a run of so many rows, one behind the other; a page has as many as the question wants, or those
// up to where its time was over.
struct Daemon {
  std::uint64_t rows = 1000;
  std::uint64_t a_time = 1'000'000;  // rows that can be read with the patience of one question
  std::int64_t from = kFirstBegin, to = 2 * kFirstBegin;  // of the run
  std::int64_t begin_of(std::uint64_t row) const {
    return from + static_cast<std::int64_t>(static_cast<double>(row) * static_cast<double>(to - from) /
                                            static_cast<double>(rows));
  }
  wire::EventsAnswer answer_to(const wire::EventsQuestion& q) const {
    wire::EventsAnswer a = answer(q.from_ns(), q.to_ns());
    a.set_token(q.token());
    a.set_zero_ns(from);
    const std::uint64_t first = q.has_after() ? q.after().rows() : 0;
    const std::uint64_t wanted = q.kind() == wire::EventsQuestion::BY_TIME ? q.most() : rows;
    const std::uint64_t last = std::min({rows, first + wanted, first + a_time});
    if (q.kind() == wire::EventsQuestion::DENSITY) {
      std::vector<std::uint64_t> bins(q.most());
      for (std::uint64_t r = first; r < last; ++r) ++bins[static_cast<std::size_t>(r * q.most() / rows)];
      a.mutable_density()->Add(bins.begin(), bins.end());
    } else if (q.kind() == wire::EventsQuestion::LONGEST) {
      // Later ones are longer.
      for (std::uint64_t r = last; r > std::max(first, last - std::min<std::uint64_t>(last, q.most())); --r)
        add_row(a, begin_of(r - 1), kLength + static_cast<std::int64_t>(r - 1));
    } else {
      for (std::uint64_t r = first; r < last; ++r) add_row(a, begin_of(r), kLength);
    }
    if (last == rows) return a;
    a.mutable_next()->set_at_ns(begin_of(last));
    a.mutable_next()->set_rows(last);
    a.set_read_until_ns(begin_of(last));
    return a;
  }
};

}  // namespace margay::scene
