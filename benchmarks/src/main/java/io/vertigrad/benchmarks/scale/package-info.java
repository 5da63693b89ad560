/** What strategies would cost with many workers: the strategies themselves in virtual time. */
package io.vertigrad.benchmarks.scale;
