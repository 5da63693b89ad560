/**
 * Reads the settings of job files strictly: every key is known, every value is checked, every error
 * names its place.
 */
package io.vertigrad.compute.settings;
