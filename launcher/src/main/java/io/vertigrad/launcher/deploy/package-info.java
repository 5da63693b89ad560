/** Starts the roles of a job, in this JVM or each in its own process. */
package io.vertigrad.launcher.deploy;
