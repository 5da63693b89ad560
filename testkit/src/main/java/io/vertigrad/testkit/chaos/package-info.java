/**
 * Trains a job in processes, kills and stops them by a seeded plan, and checks whether that left a
 * trace: {@link io.vertigrad.testkit.chaos.ChaosTrial} runs the same job undisturbed and disturbed.
 * The processes are those of the {@code vertigrad} command. It needs Linux.
 */
package io.vertigrad.testkit.chaos;
