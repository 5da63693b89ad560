package io.vertigrad.launcher;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;

/** Makes files like those of MNIST, with 64 images of noise. */
final class TinyImages {

  private static final int COUNT = 64;
  private static final int SIDE = 28;

  private TinyImages() {}

  /** Creates the folder with its four files. */
  static Path in(Path folder) throws IOException {
    Files.createDirectories(folder);
    for (String split : new String[] {"train", "t10k"}) {
      ByteBuffer images = ByteBuffer.allocate(16 + COUNT * SIDE * SIDE);
      images.putInt(0x803).putInt(COUNT).putInt(SIDE).putInt(SIDE);
      ByteBuffer labels = ByteBuffer.allocate(8 + COUNT).putInt(0x801).putInt(COUNT);
      for (int i = 0; i < COUNT * SIDE * SIDE; i++) {
        images.put((byte) (i * 31));
      }
      for (int i = 0; i < COUNT; i++) {
        labels.put((byte) (i % 10));
      }
      Files.write(folder.resolve(split + "-images-idx3-ubyte"), images.array());
      Files.write(folder.resolve(split + "-labels-idx1-ubyte"), labels.array());
    }
    return folder;
  }
}
