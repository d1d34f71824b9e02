import java.nio.file.Files;
import java.nio.file.Path;

/** Replaces texts in a file, which must have them. */
class Seed {
    public static void main(String[] arguments) throws Exception {
        Path path = Path.of(arguments[0]);
        String text = Files.readString(path);
        for (int i = 1; i < arguments.length; i += 2) {
            int at = text.indexOf(arguments[i]);
            if (at < 0) {
                throw new IllegalArgumentException(path + " has no " + arguments[i]);
            }
            text = text.substring(0, at) + arguments[i + 1] + text.substring(at + arguments[i].length());
        }
        Files.writeString(path, text);
    }
}
