/** The page that shows a run, its files and its line to the event bus. */
package io.vertigrad.dashboard;
