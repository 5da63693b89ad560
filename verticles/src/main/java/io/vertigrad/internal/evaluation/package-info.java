/**
 * The evaluator: tests the newest parameters at its own pace and the final ones on the whole test
 * set, without holding up training unless the job asks for that.
 */
package io.vertigrad.internal.evaluation;
