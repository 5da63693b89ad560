/** Serves the page that shows a run, its files and its connection to the event bus. */
package io.vertigrad.dashboard;
