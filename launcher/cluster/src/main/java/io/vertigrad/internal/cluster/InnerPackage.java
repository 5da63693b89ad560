package io.vertigrad.internal.cluster;

/**
 * A package of a library that its module does not export; an option of Java exports it to this
 * module. On the class path every package is accessible.
 *
 * @param module the library's module
 * @param name name of the package
 */
record InnerPackage(Module module, String name) {

  /**
   * Checks that this module may use the package.
   *
   * @throws IllegalStateException naming the option of Java, when it is missing
   */
  void require() {
    Module own = InnerPackage.class.getModule();
    if (!module.isExported(name, own)) {
      String to = own.isNamed() ? own.getName() : "ALL-UNNAMED";
      throw new IllegalStateException(
          "module %s does not export %s: start java with --add-exports %s/%s=%s"
              .formatted(module.getName(), name, module.getName(), name, to));
    }
  }
}
