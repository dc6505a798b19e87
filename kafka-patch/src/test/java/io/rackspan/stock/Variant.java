// SPDX-License-Identifier: Apache-2.0
package io.rackspan.stock;

import java.io.File;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The classes of one variant, ours or the official ones: methods of a class of tests by name, with types of the JDK only. That class is linked to
 * either, so that it may use only what both have.
 */
public final class Variant {

    private static final String PATH = "rackspan.stock.path";

    private final Class<?> entry;
    private final ClassLoader loader;

    private Variant(Class<?> entry, ClassLoader loader) {
        this.entry = entry;
        this.loader = loader;
    }

    /** Our jars, on the class path. */
    public static Variant ours(Class<?> entry) {
        return new Variant(entry, entry.getClassLoader());
    }

    /** The official jars of the same version, upstream's tests, and the class of tests once more, linked to them. */
    public static Variant stock(Class<?> entry) {
        String path = System.getProperty(PATH, "");
        if (path.isEmpty())
            throw new IllegalStateException("no official jars: -D" + PATH + " is not set; run the tests with `gradle testPatch`");
        List<URL> found = new ArrayList<>();
        found.add(entry.getProtectionDomain().getCodeSource().getLocation());
        for (String jar : path.split(File.pathSeparator))
            found.add(url(jar));
        return new Variant(entry, new URLClassLoader(found.toArray(URL[]::new), new Libraries()));
    }

    private static URL url(String jar) {
        try {
            return new File(jar).toURI().toURL();
        } catch (MalformedURLException e) {
            throw new IllegalStateException(e);
        }
    }

    /** The classes that are the same for both: all but Kafka's and ours. */
    private static final class Libraries extends ClassLoader {
        Libraries() {
            super(ClassLoader.getPlatformClassLoader());
        }

        @Override
        protected Class<?> findClass(String name) throws ClassNotFoundException {
            if (name.startsWith("org.apache.kafka.") || name.startsWith("kafka.") || name.startsWith("io.rackspan."))
                throw new ClassNotFoundException(name);
            return Variant.class.getClassLoader().loadClass(name);
        }
    }

    /** Calls a public static method of this variant's class; the caller names the type of its result. */
    public <T> T call(Class<T> type, String name, Object... arguments) {
        Thread thread = Thread.currentThread();
        ClassLoader before = thread.getContextClassLoader();
        thread.setContextClassLoader(loader);
        try {
            Method method = Arrays.stream(loader.loadClass(entry.getName()).getMethods()).filter(m -> m.getName().equals(name)).findFirst().orElseThrow();
            return type.cast(method.invoke(null, arguments));
        } catch (InvocationTargetException e) {
            throw new IllegalStateException(name + " " + Arrays.toString(arguments) + " failed in " + this, e.getCause());
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        } finally {
            thread.setContextClassLoader(before);
        }
    }

    @Override
    public String toString() {
        return loader == entry.getClassLoader() ? "ours" : "stock";
    }
}
