/** The job file as checked values, and the plan of partitions and shards that follows from it. */
package io.vertigrad.job;
