/**
 * The evaluator: tests the newest parameters at its own pace and the final ones on the whole test
 * set, without ever holding up training.
 */
package io.vertigrad.verticles.evaluator;
