/** From a job file and the command line's assignments to one checked job. */
package io.vertigrad.launcher.job;
