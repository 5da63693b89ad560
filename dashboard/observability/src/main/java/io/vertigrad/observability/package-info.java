/**
 * Meters, traces and health of jobs and their members, for Micrometer, OpenTelemetry and probes.
 */
package io.vertigrad.observability;
