/** The job file as checked values, and the partitions and shards that follow from it. */
package io.vertigrad.job;
