/** Runs that are over, side by side. */
package io.vertigrad.launcher.comparison;
