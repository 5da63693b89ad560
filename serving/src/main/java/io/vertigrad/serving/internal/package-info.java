/** Predictors: the queue of requests, the threads that compute, and the protocols around them. */
package io.vertigrad.serving.internal;
