/**
 * Answers with a model, while it is trained or afterwards: a verticle, and a client for other
 * verticles.
 */
package io.vertigrad.serving;
