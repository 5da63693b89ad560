/**
 * Strict reading of job-file settings: every key known, every value checked, every error placed.
 */
package io.vertigrad.compute.settings;
