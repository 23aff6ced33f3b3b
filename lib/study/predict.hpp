#pragma once

#include <memory>
#include <string>

#include "checkpoint/config.hpp"
#include "fabric/all_reduce.hpp"
#include "fabric/communicator.hpp"
#include "kv/policy.hpp"
#include "plmr/execution.hpp"

namespace wafer::study {

/// A model on a device, to be run dry.
struct PredictRequest {
  checkpoint::ModelConfig config;
  plmr::Device device;
  plmr::Precision precision{2, false};
  mesh::Mesh prefill_mesh;
  mesh::Mesh decode_mesh;
  Index input = 0;   // tokens of the prompt
  Index output = 0;  // tokens to generate
  kv::Policy kv = kv::Policy::shift;
  fabric::ReduceShape tree;
  bool every_layer = false;  // and every token: run all, repeat nothing
  bool traced = false;
};

/// How decode's layers lie on the wafer: as many regions of the decode mesh as memory demands, each with some
/// of the layers; one token walks from region to region, so one region works at a time.
struct Regions {
  Index layer_bytes = 0;  // of the core that holds most: weights and, at the end, cache of one layer
  Index layers = 0;       // of a region; 0: not even one fits
  Index count = 0;
  Index most = 0;  // regions of this mesh that the device has cores for
  // The fullest region, whose memory is reported: its layers, and whether embedding and head lie beside them.
  Index fullest_layers = 0;
  bool fullest_has_tables = true;
};

/// What a dry run found. Cycles; `decode` is of all output tokens.
struct Prediction {
  double prefill = 0.0, transition = 0.0, decode = 0.0;
  Regions regions;
  std::unique_ptr<plmr::Execution> prefill_execution, decode_execution;  // the second is null on one mesh
  const plmr::Execution& decoding() const {
    return decode_execution ? *decode_execution : *prefill_execution;
  }
};

/// Runs prefill, transition and decode dry, in the process's own time: `self` has one rank. Layers that are
/// alike are run twice, the second time for all that follow; of the output tokens a few are run, each for its
/// stretch of positions. @pre at least one token in and one out   @throws FitError
Prediction predict(const fabric::Communicator& self, const PredictRequest& request);

/// Only prefill, or only decode after a prompt that took no time: for searching grids. [cycles]
double predict_prefill(const fabric::Communicator& self, const PredictRequest& request);
double predict_decode(const fabric::Communicator& self, const PredictRequest& request);

Regions regions_of(const PredictRequest& request);

}  // namespace wafer::study
