package io.vertigrad.launcher;

import java.util.Stack;
import picocli.CommandLine.IParameterConsumer;
import picocli.CommandLine.Model.ArgSpec;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;

/** The option {@code --serve [PORT]}. */
final class ServeOption {

  static final String NAME = "--serve";

  @Option(
      names = NAME,
      paramLabel = "PORT",
      arity = "0..1",
      parameterConsumer = OptionalPort.class,
      description =
          "Answers with the newest parameters meanwhile, on the event bus and over HTTP on this"
              + " port of 127.0.0.1 ("
              + ServeCommand.PORT
              + "; serving.count, serving.port). With --keep-open also after the end.")
  private Integer port;

  /** Returns the port; null if the option was not given. */
  Integer port() {
    return port;
  }

  /** Takes the next word only if it is a number: a job file may follow instead. */
  private static final class OptionalPort implements IParameterConsumer {

    @Override
    public void consumeParameters(Stack<String> words, ArgSpec option, CommandSpec command) {
      boolean given = !words.isEmpty() && words.peek().matches("[0-9]{1,5}");
      option.setValue(Integer.valueOf(given ? words.pop() : ServeCommand.PORT));
    }
  }
}
