#include "report/device_file.hpp"

#include <cmath>

#include "io/atomic_file.hpp"
#include "io/file.hpp"
#include "io/helpers.hpp"
#include "io/json.hpp"

namespace wafer::report {
namespace {

using io::Json;
using test::contains;
using test::input_error_of;

const std::filesystem::path devices = std::filesystem::path(WAFER_DATA_DIR) / "devices";

// The shipped description of the WSE-2, to be spoiled in one place.
Json wse2() {
  const auto path = devices / "wse2.json";
  return io::parse_json(io::read_text(path), path.string());
}

plmr::Device read(const Json& description) {
  const test::TemporaryFolder folder;
  const auto path = folder / "odd.json";
  io::write_text(path, io::to_text(description));
  return read_device(path);
}

std::string error_of(const Json& description) {
  return input_error_of([&] { read(description); });
}

std::string error_with(const char* parameter, const char* key, const Json& value) {
  Json description = wse2();
  description["parameters"][parameter][key] = value;
  return error_of(description);
}

TEST_CASE("every shipped description reads, and has all numbers that it states") {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(devices)) {
    CAPTURE(entry.path().string());
    const plmr::Device device = read_device(entry.path());
    const Json given = io::parse_json(io::read_text(entry.path()), "device");
    CHECK(device.name == given["name"]);
    const auto value = [&](const char* name) { return given["parameters"][name]["value"].get<double>(); };
    CHECK(static_cast<double>(device.grid_width) == value("grid_width"));
    CHECK(device.clock_hz == value("clock"));
    CHECK(device.hop == std::llround(1024 * value("hop")));
    CHECK(device.exponential == std::llround(1024 * value("exponential")));
    ++files;
  }
  CHECK(files >= 4);
}

TEST_CASE("every parameter has its own place in the device") {
  const plmr::Device plain = read(wse2());
  for (const plmr::DeviceField& field : plmr::device_fields()) {
    CAPTURE(field.name);
    Json description = wse2();
    Json& value = description["parameters"][field.name]["value"];
    value = value.get<double>() + 7;
    plmr::Device expected = plain;
    field.set(expected, value.get<double>());
    const plmr::Device device = read(description);
    int changed = 0, wrong = 0;
    const auto compare = [&](auto member) {
      changed += device.*member != plain.*member ? 1 : 0;
      wrong += device.*member != expected.*member ? 1 : 0;
    };
    using D = plmr::Device;
    for (auto member :
         {&D::grid_height, &D::grid_width, &D::sram_bytes, &D::die_rows, &D::routes, &D::stream_packet_bytes,
          &D::max_elements, &D::memory_word_bytes, &D::vector_elements_16, &D::vector_elements_32})
      compare(member);
    for (auto member : {&D::word, &D::ramp, &D::hop, &D::die_border, &D::stage, &D::operation, &D::multicast,
                        &D::operator_entry, &D::shift, &D::background_word, &D::loop, &D::call,
                        &D::accumulate, &D::divide, &D::square_root, &D::exponential})
      compare(member);
    compare(&D::clock_hz);
    compare(&D::power_watts);
    CHECK(changed == 1);
    CHECK(wrong == 0);
  }
}

TEST_CASE("a parameter that is missing is named, each of them") {
  for (const plmr::DeviceField& field : plmr::device_fields()) {
    Json description = wse2();
    description["parameters"].erase(field.name);
    CHECK_THAT(error_of(description),
               contains("odd.json") && contains("\"" + std::string(field.name) + "\""));
  }
}

TEST_CASE("a parameter that no device has is named") {
  Json description = wse2();
  description["parameters"]["hopp"] = description["parameters"]["hop"];
  CHECK_THAT(error_of(description), contains("odd.json") && contains("unknown") && contains("\"hopp\""));
}

TEST_CASE("another unit is refused with the right one") {
  CHECK_THAT(error_with("clock", "unit", "GHz"),
             contains("odd.json") && contains("clock") && contains("GHz") && contains("hertz"));
  CHECK_THAT(error_with("hop", "unit", 3), contains("odd.json") && contains("hop") && contains("unit"));
}

TEST_CASE("a value that is no number from 0 on is refused by name") {
  for (const Json& value :
       {Json("5"), Json(nullptr), Json(true), Json::array(), Json(-1), Json(-1e-9), Json(1e19)})
    CHECK_THAT(error_with("stage", "value", value),
               contains("odd.json") && contains("stage") && contains("value"));
}

TEST_CASE("a count that has to be more than 0 is refused by name where it is 0") {
  for (const char* name : {"grid_height", "grid_width", "sram_bytes", "clock", "word", "memory_word_bytes",
                           "stream_packet_bytes", "max_elements", "vector_elements_16", "vector_elements_32"})
    CHECK_THAT(error_with(name, "value", 0),
               contains("odd.json") && contains(name) && contains("more than 0"));
}

TEST_CASE("a cost may be 0") {
  Json description = wse2();
  description["parameters"]["stage"]["value"] = 0;
  description["parameters"]["die_border"]["value"] = 0;
  CHECK(read(description).stage == 0);
}

TEST_CASE("a number says where it comes from") {
  for (const char* note : {"grade", "source"}) {
    Json description = wse2();
    description["parameters"]["ramp"].erase(note);
    CHECK_THAT(error_of(description), contains("odd.json") && contains("ramp") && contains(note));
  }
}

TEST_CASE("a channel is rendezvous or eager") {
  Json description = wse2();
  description["channel"]["value"] = "eager";
  CHECK(read(description).channel == plmr::Channel::eager);
  description["channel"]["value"] = "rendezvous";
  CHECK(read(description).channel == plmr::Channel::rendezvous);
  description["channel"]["value"] = "Eager";
  CHECK_THAT(error_of(description), contains("odd.json") && contains("channel") && contains("Eager") &&
                                        contains("rendezvous or eager"));
  description.erase("channel");
  CHECK_THAT(error_of(description), contains("odd.json") && contains("channel"));
}

TEST_CASE("what is no description is refused with the file") {
  CHECK_THAT(error_of(Json::array()), contains("odd.json"));
  CHECK_THAT(error_of(Json::object()), contains("odd.json") && contains("name"));
  Json description = wse2();
  description["parameters"]["hop"] = 1.14;
  CHECK_THAT(error_of(description), contains("odd.json") && contains("hop") && contains("an object"));
  description.erase("parameters");
  CHECK_THAT(error_of(description), contains("odd.json") && contains("parameters"));
}

TEST_CASE("no file and a folder are refused by name") {
  const test::TemporaryFolder folder;
  CHECK_THAT(input_error_of([&] { read_device(folder / "none.json"); }), contains("none.json"));
  CHECK_THAT(input_error_of([&] { read_device(folder.path()); }), contains(folder.path().string()));
}

}  // namespace
}  // namespace wafer::report
