/* cuda_stream.c: programs that the host does not wait for: on the batch's stream, or in the graph that the
 * caller captures from it.
 *
 * Nothing is decided by the host, so nothing can grow: a program whose list is too short commits nothing and
 * leaves a mark in the tally; those that follow see it and do nothing. Whoever settles reads the mark, grows
 * and says so.
 *
 * A graph with loops can be neither cloned nor a child of another, so a capture gets the program's nodes
 * themselves, in a branch that is closed once the memory they point to is gone. */
#ifdef ABUT_HAVE_CUDA
#include "host/cuda/cuda_device.h"
#include <stdio.h>
#include <string.h>

static abut_status launch_gate(cuda_device *c, int which, cudaGraphConditionalHandle handle, cudaStream_t s) {
  (void)which;
  void *args[] = {&c->tally, &c->generation, &handle};
  dim3 one = {1, 1, 1};
  CK(cudaLaunchKernel(cuda_control(CONTROL_gate), one, one, args, 0, s));
  return ABUT_OK;
}

static abut_status add_branch(abut_batch *b, const program *p, const program_io *io) {
  cuda_device *c = b->cuda;
  cudaGraphConditionalHandle handle;
  cudaGraph_t body;
  ATTEMPT(cuda_conditional(c, cudaGraphCondTypeIf, launch_gate, 0, c->gpu.stream, &handle, &body));
  CK(cudaStreamBeginCaptureToGraph(c->outer, body, NULL, NULL, 0, cudaStreamCaptureModeThreadLocal));
  abut_status status = cuda_begin(b, p, io, c->outer);
  if (status == ABUT_OK) status = cuda_emit(b, p, c->outer);
  cudaError_t end = cudaStreamEndCapture(c->outer, &body);
  return status != ABUT_OK ? status : cuda_check(&c->gpu, end, "cudaStreamEndCapture");
}

/* Half a program may loop for ever, so a failure ends the capture: by a call that is not allowed in one. */
static abut_status add_to_capture(abut_batch *b, const program *p, const program_io *io) {
  abut_status status = add_branch(b, p, io);
  if (status != ABUT_OK) cudaStreamSynchronize(b->cuda->gpu.stream);
  return status;
}

/* A capture elsewhere that the legacy stream would join counts as one of this stream. */
static abut_status capture_status(cuda_device *c, enum cudaStreamCaptureStatus *capture) {
  cudaError_t code = cudaStreamIsCapturing(c->gpu.stream, capture);
  if (code == cudaErrorStreamCaptureImplicit)
    return fail_with(ABUT_ERROR_ARGUMENT, "the default stream cannot be used during a capture");
  return cuda_check(&c->gpu, code, "cudaStreamIsCapturing");
}

abut_status cuda_enqueue(abut_batch *b, const program *p, const program_io *io) {
  cuda_device *c = b->cuda;
  program_io counted = *io;
  enum cudaStreamCaptureStatus capture;
  graph *g;
  USE(b);
  ATTEMPT(capture_status(c, &capture));
  if (!c->loops)
    return fail_with(ABUT_ERROR_DEVICE,
                     "enqueue: needs a driver of CUDA 12.4 or later: with this one the host "
                     "decides on every round");
  counted.enqueued = 1;
  if (capture == cudaStreamCaptureStatusActive) {
    c->captured = 1;
    return add_to_capture(b, p, &counted);
  }
  if (capture != cudaStreamCaptureStatusNone)
    return fail_with(ABUT_ERROR_ARGUMENT, "enqueue: the stream's capture is no longer valid");
  ATTEMPT(cuda_whole(b, p, &g));
  c->enqueued = c->untold = 1;
  ATTEMPT(cuda_begin(b, p, &counted, c->gpu.stream));
  CK(cudaGraphLaunch(g->run, c->gpu.stream));
  return ABUT_OK;
}

/* ---------------------------------------------------------------- what they met */

static abut_status write_tally(cuda_device *c, program_tally t) {
  ATTEMPT(cuda_to_device(&c->gpu, c->tally, &t, sizeof t));
  CK(cudaStreamSynchronize(c->gpu.stream));
  return ABUT_OK;
}

abut_status cuda_void_graphs(cuda_device *c) {
  if (!c->captured) return ABUT_OK;
  c->generation++;
  return cuda_to_device(&c->gpu, &c->tally->generation, &c->generation, sizeof c->generation);
}

/* Counters up to now, and none on the device from here on. */
static abut_status take_tally(cuda_device *c, program_tally *t, int all) {
  CK(cudaMemcpyAsync(c->read, c->tally, sizeof *c->read, cudaMemcpyDefault, c->gpu.stream));
  CK(cudaStreamSynchronize(c->gpu.stream));
  *t = *c->read;
  int failed = t->need || t->voided || t->unrecorded;
  program_tally rest = all ? (program_tally){.generation = t->generation, .record = t->record} : *t;
  rest.need = rest.need_room = rest.voided = rest.unrecorded = 0;
  return failed || all ? write_tally(c, rest) : ABUT_OK;
}

static abut_status count_failed(abut_batch *b, abut_rollout_result *r) {
  int64_t n = b->options.nenv;
  ATTEMPT(
      cuda_to_host(&b->cuda->gpu, b->state.status, b->cuda->at.state.status, (size_t)n * sizeof(uint32_t)));
  for (int64_t i = 0; i < n; i++) r->failed_envs += b->state.status[i] != 0;
  return ABUT_OK;
}

static abut_status grow_for(abut_batch *b, const program_tally *t) {
  int32_t had = t->need_room ? b->room : t->reverse ? b->nslot : b->capacity;
  ATTEMPT(batch_make_room(b, t->need, t->need_room, t->reverse));
  char met[64];
  if (t->need_room)
    snprintf(met, sizeof met, "longer long-range lists");
  else
    snprintf(met, sizeof met, "%lld contacts", (long long)t->need);
  return fail_with(ABUT_ERROR_CAPACITY,
                   "an enqueued %s met %s in an environment, there was room for %d: there is now; "
                   "call again what was enqueued after the first %lld",
                   t->reverse ? "reverse pass" : "rollout", met, had, (long long)t->done);
}

abut_status cuda_settle(abut_batch *b, abut_rollout_result *r) {
  cuda_device *c = b->cuda;
  enum cudaStreamCaptureStatus capture;
  USE(b);
  ATTEMPT(capture_status(c, &capture));
  if (capture != cudaStreamCaptureStatusNone)
    return fail_with(
        ABUT_ERROR_ARGUMENT,
        "the batch's stream is being captured: only calls with enqueue = 1 can be made there, that "
        "record no more steps than a call before");
  if (!c->enqueued && !c->captured && !(r && c->untold)) return ABUT_OK;
  program_tally t;
  ATTEMPT(take_tally(c, &t, r != NULL));
  c->enqueued = 0;
  c->device_newer = 1;
  if (r) {
    c->untold = 0;
    r->done = t.done;
    r->newton_iterations = t.newton_iterations;
    r->newton_iterations_max = t.newton_iterations_max;
    r->unconverged_steps = t.unconverged_steps;
    ATTEMPT(count_failed(b, r));
  }
  if (t.need) return grow_for(b, &t);
  if (t.voided)
    return fail_with(ABUT_ERROR_ARGUMENT,
                     "a captured graph was replayed after the batch's memory had moved: %lld calls in it did "
                     "nothing; capture it again",
                     (long long)t.voided);
  if (t.unrecorded)
    return fail_with(ABUT_ERROR_ARGUMENT,
                     "%lld enqueued reverse passes did nothing: the record was not that of their rollout",
                     (long long)t.unrecorded);
  return ABUT_OK;
}

#else
typedef int cuda_stream_is_empty; /* ISO C wants one declaration */
#endif
