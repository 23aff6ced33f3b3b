#include "study/predict.hpp"

#include <cmath>

#include "core/error.hpp"
#include "fabric/tilings.hpp"
#include "io/file.hpp"
#include "support/test_device.hpp"

namespace wafer::study {
namespace {

using test::world;

// A small model with more layers than a dry run has to run.
PredictRequest request_of(mesh::Mesh prefill, mesh::Mesh decode) {
  const std::string path = WAFER_DATA_DIR "/folio/config.json";
  PredictRequest request;
  request.config = checkpoint::parse_config(io::read_text(path), "", path);
  request.device = test::odd_device();
  request.device.sram_bytes = 16 << 20;
  request.prefill_mesh = prefill;
  request.decode_mesh = decode;
  request.input = 13;
  request.output = 20;
  return request;
}

double difference(double a, double b) { return std::abs(a / b - 1.0); }

TEST_CASE("layers that are alike and stretches of tokens stand for all of them") {
  const std::pair<mesh::Mesh, mesh::Mesh> meshes[] = {
      {{3, 3}, {3, 3}}, {{2, 3}, {2, 3}}, {{3, 3}, {2, 3}}, {{1, 1}, {3, 2}}};
  for (const auto& [prefill, decode] : meshes)
    for (const kv::Policy kv : {kv::Policy::shift, kv::Policy::concat, kv::Policy::round_robin}) {
      PredictRequest request = request_of(prefill, decode);
      request.kv = kv;
      const Prediction repeated = predict(world(), request);
      request.every_layer = true;
      const Prediction every = predict(world(), request);
      CAPTURE(mesh::to_string(prefill), mesh::to_string(decode), kv::to_string(kv));
      CHECK(every.prefill > 0.0);
      CHECK(every.decode > 0.0);
      CHECK(difference(repeated.prefill, every.prefill) < 0.02);
      CHECK(difference(repeated.decode, every.decode) < 0.02);
    }
}

TEST_CASE("a second execution is there where decode has a mesh of its own") {
  const Prediction one = predict(world(), request_of({2, 2}, {2, 2}));
  CHECK(one.decode_execution == nullptr);
  CHECK(&one.decoding() == one.prefill_execution.get());
  const Prediction two = predict(world(), request_of({2, 2}, {1, 3}));
  REQUIRE(two.decode_execution != nullptr);
  CHECK(&two.decoding() == two.decode_execution.get());
  CHECK(two.decoding().mesh() == mesh::Mesh{1, 3});
  CHECK(two.prefill_execution->mesh() == mesh::Mesh{2, 2});
  CHECK(two.transition > 0.0);
}

TEST_CASE("prefill, transition and decode are all of the time") {
  for (const mesh::Mesh decode : {mesh::Mesh{3, 3}, {2, 3}}) {
    const Prediction result = predict(world(), request_of({3, 3}, decode));
    CHECK(result.prefill + result.transition + result.decode == plmr::to_cycles(result.decoding().now()));
  }
}

TEST_CASE("tracing changes no cycle") {
  PredictRequest request = request_of({3, 3}, {2, 3});
  const Prediction plain = predict(world(), request);
  request.traced = true;
  const Prediction traced = predict(world(), request);
  CHECK(traced.prefill == plain.prefill);
  CHECK(traced.transition == plain.transition);
  CHECK(traced.decode == plain.decode);
  CHECK(traced.decoding().ledger() == plain.decoding().ledger());
  CHECK(traced.prefill_execution->ledger() == plain.prefill_execution->ledger());
  CHECK(traced.decoding().traced());
  CHECK_FALSE(plain.decoding().traced());
}

TEST_CASE("the same is predicted twice") {
  const PredictRequest request = request_of({3, 3}, {2, 3});
  const Prediction a = predict(world(), request), b = predict(world(), request);
  CHECK(a.decode == b.decode);
  CHECK(a.decoding().ledger() == b.decoding().ledger());
}

TEST_CASE("prefill alone costs what it costs in the whole run, and decode alone nearly") {
  const PredictRequest request = request_of({3, 3}, {3, 3});
  const Prediction whole = predict(world(), request);
  CHECK(predict_prefill(world(), request) == whole.prefill);
  CHECK(difference(predict_decode(world(), request), whole.decode) < 0.02);
}

TEST_CASE("more tokens take longer: one, two and as many as there are stretches") {
  PredictRequest request = request_of({2, 3}, {2, 3});
  double before = 0.0;
  for (const Index output : {1, 2, 3, 8, 9, 10, 17}) {
    request.output = output;
    const double decode = predict(world(), request).decode;
    CAPTURE(output);
    CHECK(decode > before);
    before = decode;
  }
}

TEST_CASE("one token and one layer are predicted the same with and without repeating") {
  PredictRequest request = request_of({2, 3}, {2, 3});
  request.config.layers = 1;
  request.config.window.resize(1);
  request.input = request.output = 1;
  const Prediction repeated = predict(world(), request);
  request.every_layer = true;
  const Prediction every = predict(world(), request);
  CHECK(repeated.prefill == every.prefill);
  CHECK(repeated.decode == every.decode);
}

TEST_CASE("a prompt may be longer than the model's context, but not empty") {
  PredictRequest request = request_of({2, 2}, {2, 2});
  request.input = request.config.context;
  const double full = predict_prefill(world(), request);
  ++request.input;
  CHECK(predict_prefill(world(), request) > full);
  request.input = 0;
  CHECK_THROWS_AS(predict(world(), request), FitError);
}

// On one core, so that every size is the model's.
struct OneCore {
  PredictRequest request = request_of({1, 1}, {1, 1});
  static constexpr Index weights = 192 * (192 + 96 + 96) + 192 * 192 + 192 * 2 * 512 + 512 * 192;
  static constexpr Index cache = (13 + 20) * 2 * 96;
  static constexpr Index layer = 2 * (weights + cache);
  static constexpr Index table = 2 * 2048 * 192;  // embedding and head are tied
  static constexpr Index buffers = 2 * 4 * 1024;

  Regions with_room(Index bytes) {
    request.device.sram_bytes = buffers + bytes;
    return regions_of(request);
  }
};

TEST_CASE("a region has as many layers as memory holds, and there are as many as the layers need") {
  OneCore one;
  CHECK(one.with_room(0).layer_bytes == OneCore::layer);
  CHECK(one.with_room(OneCore::layer - 1).layers == 0);
  CHECK(one.with_room(OneCore::layer - 1).count == 0);
  CHECK(one.with_room(OneCore::layer).layers == 1);
  CHECK(one.with_room(2 * OneCore::layer).layers == 2);
  CHECK(one.with_room(4 * OneCore::layer).layers == 4);
  CHECK(one.with_room(4 * OneCore::layer).count == 2);  // 4 and 2 layers, and the table beside the 2
  CHECK(one.with_room(100 * OneCore::layer).layers == 6);
  CHECK(one.with_room(100 * OneCore::layer).count == 1);
}

TEST_CASE("the table has regions of its own where it finds no room beside the last layers") {
  OneCore one;
  const Index all = 6 * OneCore::layer + OneCore::table;
  CHECK(one.with_room(all).count == 1);
  CHECK(one.with_room(all - 1).count == 2);
  // One layer a region; the table is less than a layer with its room.
  CHECK(one.with_room(OneCore::layer).count == 6 + (OneCore::table + OneCore::layer - 1) / OneCore::layer);
  one.request.config.tied_embeddings = false;
  CHECK(one.with_room(all).count == 2);
  CHECK(one.with_room(all + OneCore::table).count == 1);
}

TEST_CASE("the memory that is reported is the fullest region's") {
  OneCore one;
  const Regions apart = one.with_room(OneCore::layer);  // the table lies elsewhere
  CHECK(apart.fullest_layers == 1);
  CHECK(!apart.fullest_has_tables);
  const Regions whole = one.with_room(100 * OneCore::layer);
  CHECK(whole.fullest_layers == 6);
  CHECK(whole.fullest_has_tables);
  const Regions two = one.with_room(4 * OneCore::layer);  // 4 layers, and 2 with the table
  CHECK(two.fullest_has_tables == (2 * OneCore::layer + OneCore::table >= 4 * OneCore::layer));
  CHECK(two.fullest_layers == (two.fullest_has_tables ? 2 : 4));
}

TEST_CASE("memory that the buffers alone fill holds no layer") {
  OneCore one;
  CHECK(one.with_room(-1).layers == 0);
  CHECK(one.with_room(-OneCore::buffers).layers == 0);
}

TEST_CASE("regions of a mesh are counted on the device's grid") {
  PredictRequest request = request_of({3, 3}, {3, 3});
  CHECK(regions_of(request).most == 100 * 90 / 9);
  request.decode_mesh = {91, 100};
  CHECK(regions_of(request).most == 0);
}

TEST_CASE("the cache that concat puts on one row needs more memory than the even one") {
  PredictRequest request = request_of({3, 3}, {3, 3});
  const Index even = regions_of(request).layer_bytes;
  request.kv = kv::Policy::concat;
  const Index rows = (5 + 20) - 11;  // the last row's tokens, less an even share of 33
  CHECK(regions_of(request).layer_bytes - even == 2 * rows * 2 * 32);
}

TEST_CASE("crossing regions costs cycles, as many crossings as there are regions but one") {
  PredictRequest request = request_of({2, 3}, {2, 3});
  const Prediction one = predict(world(), request);
  REQUIRE(one.regions.count == 1);
  CHECK(one.decoding()
            .ledger()
            .total([](const auto& account) { return account.operation == "regions"; })
            .calls == 0);
  request.device.sram_bytes = 3 * one.regions.layer_bytes;  // two layers and buffers
  const Prediction more = predict(world(), request);
  REQUIRE(more.regions.count > 1);
  const auto crossings =
      more.decoding().ledger().total([](const auto& account) { return account.operation == "regions"; });
  CHECK(crossings.calls == request.output);
  CHECK(crossings.words > 0);
  CHECK(crossings.words % (request.output * (more.regions.count - 1)) == 0);
  CHECK(more.decode > one.decode);
}

}  // namespace
}  // namespace wafer::study
