#include "report/device_file.hpp"

#include <algorithm>
#include <string>

#include "core/error.hpp"
#include "io/file.hpp"
#include "io/json_object.hpp"

namespace wafer::report {

namespace {

constexpr double most = 1e12;  // of any value: far from what ticks can hold

void refuse_unknown(const io::JsonObject& parameters, const io::Json& given) {
  for (const auto& [name, value] : given.items()) {
    const auto fields = plmr::device_fields();
    const auto is_name = [&key = name](const plmr::DeviceField& field) { return key == field.name; };
    if (std::none_of(fields.begin(), fields.end(), is_name))
      throw InputError({.what = parameters.where() + " has an unknown parameter",
                        .got = "\"" + name + "\"",
                        .remedy = "the names in data/devices/wse2.json"});
  }
}

}  // namespace

plmr::Device read_device(const std::filesystem::path& path) {
  const io::Json text = io::parse_json(io::read_text(path), path.string());
  const io::JsonObject file(text, path.string());
  plmr::Device device;
  device.name = file.text("name");
  const io::JsonObject channel = file.object("channel");
  const std::string value = channel.text("value");
  if (value != "rendezvous" && value != "eager") channel.refuse("value", "rendezvous or eager");
  device.channel = value == "eager" ? plmr::Channel::eager : plmr::Channel::rendezvous;
  const io::JsonObject parameters = file.object("parameters");
  refuse_unknown(parameters, text.at("parameters"));
  for (const plmr::DeviceField& field : plmr::device_fields()) {
    if (!parameters.has(field.name))
      throw InputError({.what = path.string() + " lacks the parameter \"" + field.name + "\"",
                        .remedy = "a value with its unit, grade and source, as in data/devices/wse2.json"});
    const io::JsonObject parameter = parameters.object(field.name);
    if (parameter.text("unit") != field.unit) parameter.refuse("unit", field.unit);
    for (const char* note : {"grade", "source"}) parameter.text(note);
    field.set(device, parameter.number("value", 0.0, most));
  }
  for (const char* count :
       {"grid_height", "grid_width", "sram_bytes", "clock", "word", "memory_word_bytes",
        "stream_packet_bytes", "max_elements", "vector_elements_16", "vector_elements_32"})
    if (parameters.object(count).number("value", 0.0, most) < (std::string(count) == "word" ? 0.001 : 1.0))
      parameters.object(count).refuse("value", "more than 0");
  return device;
}

}  // namespace wafer::report
