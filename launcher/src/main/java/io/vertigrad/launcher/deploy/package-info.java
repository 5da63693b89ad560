/** Starts the roles of a job, in this JVM or each in a process of its own. */
package io.vertigrad.launcher.deploy;
