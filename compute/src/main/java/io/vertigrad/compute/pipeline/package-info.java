/**
 * Splits a model into consecutive stages, so that several members compute one model: where it may
 * be cut, how evenly, and what one stage computes. Names no engine.
 */
package io.vertigrad.compute.pipeline;
