/**
 * The evaluator: tests the newest parameters regularly and the final ones on the whole test set. It
 * does not delay training unless the job asks for that.
 */
package io.vertigrad.internal.evaluation;
