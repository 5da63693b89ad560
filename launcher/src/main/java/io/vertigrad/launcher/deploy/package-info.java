/** Puts the roles of a job somewhere: into this JVM, or each into a process of its own. */
package io.vertigrad.launcher.deploy;
