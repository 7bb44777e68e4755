// A mutator that knows messages: bytes changed blindly seldom stay a message, so it parses one, changes a few
// fields of it (any depth; repeated ones grow, shrink and repeat), and writes it again.
//
// Only libFuzzer calls it (LLVMFuzzerCustomMutator of the targets that take messages). Deterministic in the
// seed.
#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <google/protobuf/stubs/logging.h>

#include <iterator>
#include <limits>
#include <random>
#include <vector>

#include "fuzz.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

namespace margay::fuzz {

using Random = std::minstd_rand;

// A line for every message that does not decode would be most of what a fuzzer does (the daemon is as quiet).
[[maybe_unused]] inline auto* const g_log_before = google::protobuf::SetLogHandler(nullptr);

inline std::uint64_t interesting(Random& random) {
  constexpr std::uint64_t kValues[] = {0,
                                       1,
                                       2,
                                       7,
                                       64,
                                       255,
                                       256,
                                       65536,
                                       65537,
                                       0x7fffffff,
                                       0x80000000,
                                       0xffffffff,
                                       5'000'000'000,
                                       5'100'000'000,
                                       std::uint64_t{1} << 61,
                                       std::uint64_t{1} << 62,
                                       std::numeric_limits<std::int64_t>::max(),
                                       std::uint64_t{1} << 63,
                                       std::numeric_limits<std::uint64_t>::max()};
  switch (random() % 3) {
    case 0:
      return kValues[random() % std::size(kValues)];
    case 1:
      return random() % 16;
    default:
      return std::uint64_t{random()} << (random() % 34);
  }
}

inline std::uint64_t near(std::uint64_t old, Random& random) {
  switch (random() % 4) {
    case 0:
      return old + 1;
    case 1:
      return old - 1;
    case 2:
      return old ^ (std::uint64_t{1} << (random() % 64));
    default:
      return interesting(random);
  }
}

inline std::string mutated_bytes(std::string text, Random& random, bool utf8) {
  const std::size_t most = text.size() + 16;
  std::vector<std::uint8_t> room(most);
  std::copy(text.begin(), text.end(), room.begin());
  const std::size_t n = LLVMFuzzerMutate(room.data(), text.size(), most);
  text.assign(room.begin(), room.begin() + static_cast<std::ptrdiff_t>(n));
  if (random() % 64 == 0) text.append(random() % 600, 'x');
  // Other bytes make the whole message undecodable; now and then is enough.
  if (utf8 && random() % 64 != 0)
    for (char& c : text)
      if (static_cast<unsigned char>(c) >= 0x80) c = static_cast<char>(c & 0x7f);
  return text;
}

inline void mutate(google::protobuf::Message& m, Random& random);

inline void mutate_field(google::protobuf::Message& m, const google::protobuf::FieldDescriptor* f,
                         Random& random) {
  using F = google::protobuf::FieldDescriptor;
  const auto* r = m.GetReflection();
  if (f->is_repeated()) {
    const int n = r->FieldSize(m, f);
    const auto any = [&] { return static_cast<int>(random() % static_cast<unsigned>(n)); };
    const unsigned act = random() % 8;
    if (n > 0 && act == 0) return r->RemoveLast(&m, f);
    if (n > 1 && act == 1) return r->SwapElements(&m, f, any(), any());
    if (f->cpp_type() == F::CPPTYPE_MESSAGE) {
      if (n > 0 && act < 6) return mutate(*r->MutableRepeatedMessage(&m, f, any()), random);
      const int from = n > 0 ? any() : -1;
      auto* fresh = r->AddMessage(&m, f);
      if (from >= 0) fresh->CopyFrom(r->GetRepeatedMessage(m, f, from));
      return mutate(*fresh, random);
    }
    const std::uint64_t v = interesting(random);
    if (f->cpp_type() == F::CPPTYPE_UINT32)
      n > 0 && act < 6 ? r->SetRepeatedUInt32(&m, f, any(), static_cast<std::uint32_t>(v))
                       : r->AddUInt32(&m, f, static_cast<std::uint32_t>(v));
    else if (f->cpp_type() == F::CPPTYPE_UINT64)
      n > 0 && act < 6 ? r->SetRepeatedUInt64(&m, f, any(), v) : r->AddUInt64(&m, f, v);
    else if (f->cpp_type() == F::CPPTYPE_STRING)
      n > 0 && act < 6
          ? r->SetRepeatedString(&m, f, any(), mutated_bytes(r->GetRepeatedString(m, f, 0), random, true))
          : r->AddString(&m, f, mutated_bytes("{\"id\":1}", random, true));
    return;
  }
  switch (f->cpp_type()) {
    case F::CPPTYPE_MESSAGE:
      if (r->HasField(m, f) && random() % 16 == 0) return r->ClearField(&m, f);
      return mutate(*r->MutableMessage(&m, f), random);
    case F::CPPTYPE_UINT32:
      return r->SetUInt32(&m, f, static_cast<std::uint32_t>(near(r->GetUInt32(m, f), random)));
    case F::CPPTYPE_UINT64:
      return r->SetUInt64(&m, f, near(r->GetUInt64(m, f), random));
    case F::CPPTYPE_INT32:
      return r->SetInt32(
          &m, f, static_cast<std::int32_t>(near(static_cast<std::uint64_t>(r->GetInt32(m, f)), random)));
    case F::CPPTYPE_INT64: {
      const std::int64_t old = r->GetInt64(m, f);
      // Times: also a step of some milliseconds.
      const std::uint64_t v = random() % 2 == 0 ? static_cast<std::uint64_t>(old) + random() % 300'000'000
                                                : near(static_cast<std::uint64_t>(old), random);
      return r->SetInt64(&m, f, static_cast<std::int64_t>(v));
    }
    case F::CPPTYPE_ENUM:
      return r->SetEnumValue(&m, f, static_cast<int>(random() % 8));
    case F::CPPTYPE_BOOL:
      return r->SetBool(&m, f, !r->GetBool(m, f));
    case F::CPPTYPE_STRING:
      return r->SetString(&m, f, mutated_bytes(r->GetString(m, f), random, f->type() == F::TYPE_STRING));
    case F::CPPTYPE_FLOAT: {
      constexpr float kFloats[] = {0,
                                   0.5f,
                                   1,
                                   -1,
                                   1e-30f,
                                   3e38f,
                                   std::numeric_limits<float>::infinity(),
                                   std::numeric_limits<float>::quiet_NaN()};
      return r->SetFloat(&m, f, kFloats[random() % std::size(kFloats)]);
    }
    case F::CPPTYPE_DOUBLE: {
      constexpr double kDoubles[] = {0,
                                     0.5,
                                     1,
                                     -1,
                                     1e300,
                                     std::numeric_limits<double>::infinity(),
                                     std::numeric_limits<double>::quiet_NaN()};
      return r->SetDouble(&m, f, kDoubles[random() % std::size(kDoubles)]);
    }
  }
}

inline void mutate(google::protobuf::Message& m, Random& random) {
  const auto* d = m.GetDescriptor();
  if (d->field_count() == 0) return;
  // Mostly what is there; sometimes any field.
  std::vector<const google::protobuf::FieldDescriptor*> there;
  m.GetReflection()->ListFields(m, &there);
  const auto* f = !there.empty() && random() % 4 != 0
                      ? there[random() % there.size()]
                      : d->field(static_cast<int>(random()) % d->field_count());
  mutate_field(m, f, random);
}

// Changes a serialised message of type M. Returns the new bytes.
template <class M>
std::string mutated_message(std::string_view bytes, unsigned seed) {
  Random random(seed | 1u);
  M m;
  if (random() % 16 == 0 || !m.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return mutated_bytes(std::string(bytes), random, false);
  for (unsigned n = 1 + random() % 4; n > 0; --n) mutate(m, random);
  return m.SerializeAsString();
}

// For inputs that are `prefix` bytes and then one message of type M.
template <class M>
std::size_t mutate_prefixed(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed,
                            std::size_t prefix) {
  if (size < prefix || seed % 8 == 0) return LLVMFuzzerMutate(data, size, most);
  const std::string out = mutated_message<M>(text_of(data + prefix, size - prefix), seed);
  if (prefix + out.size() > most) return LLVMFuzzerMutate(data, size, most);
  std::copy(out.begin(), out.end(), data + prefix);
  return prefix + out.size();
}

// For inputs that are `prefix` bytes and then frames: `head` bytes, a length of two bytes, a message of type
// M.
template <class M>
std::size_t mutate_frames(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed,
                          std::size_t prefix, std::size_t head) {
  if (size < prefix || seed % 8 == 0) return LLVMFuzzerMutate(data, size, most);
  Random random(seed | 1u);
  struct Frame {
    std::string head, body;
  };
  Input in(data, size);
  InputWriter out;
  out.bytes(in.bytes(prefix));
  std::vector<Frame> frames;
  while (!in.empty()) {
    Frame f;
    f.head = in.bytes(head);
    f.body = in.piece();
    frames.push_back(std::move(f));
  }
  const auto any = [&] { return random() % frames.size(); };
  switch (frames.empty() ? 1 : random() % 8) {
    case 0:
      frames.erase(frames.begin() + static_cast<std::ptrdiff_t>(any()));
      break;
    case 1:
      frames.push_back(frames.empty() ? Frame{std::string(head, '\0'), M().SerializeAsString()}
                                      : frames[any()]);
      break;
    case 2:
      std::swap(frames[any()], frames[any()]);
      break;
    case 3: {
      std::string& h = frames[any()].head;
      if (!h.empty()) h[random() % h.size()] = static_cast<char>(random());
      break;
    }
    default: {
      Frame& f = frames[any()];
      f.body = mutated_message<M>(f.body, static_cast<unsigned>(random()));
    }
  }
  for (const Frame& f : frames) out.bytes(f.head).piece(f.body);
  if (out.text().size() > most) return LLVMFuzzerMutate(data, size, most);
  std::copy(out.text().begin(), out.text().end(), data);
  return out.text().size();
}

}  // namespace margay::fuzz
