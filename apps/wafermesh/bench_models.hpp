#pragma once

#include "wafermesh/bench_case.hpp"

namespace wafer::app {

/// The cases that run a model.
Contest llama_decode(const fabric::Communicator& world, const BenchSettings& settings);
Contest llama_decode_on_many(const fabric::Communicator& world, const BenchSettings& settings);
Contest llama_prefill(const fabric::Communicator& world, const BenchSettings& settings);
Contest llama_prefill_on_many(const fabric::Communicator& world, const BenchSettings& settings);
Contest folio_decode(const fabric::Communicator& world, const BenchSettings& settings);
Contest dry_layer(const fabric::Communicator& world, const BenchSettings& settings);
Contest device_prefill(const fabric::Communicator& world, const BenchSettings& settings);
Contest device_decode(const fabric::Communicator& world, const BenchSettings& settings);

}  // namespace wafer::app
