// SPDX-License-Identifier: Apache-2.0
package io.rackspan.protocol;

import java.io.File;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.Arrays;

/** The client classes of one variant, ours or the official ones: methods of {@link Wire} by name, with types of the JDK only. */
final class World {

    /** Our jars, on the class path. */
    static final World OURS = new World(Wire.class.getClassLoader());

    /** The official jar of the same version, and this folder's classes once more, linked to it. */
    static final World STOCK = new World(stockLoader());

    private final ClassLoader loader;

    private World(ClassLoader loader) {
        this.loader = loader;
    }

    private static ClassLoader stockLoader() {
        String jar = System.getProperty("rackspan.stock.clients");
        if (jar == null || !new File(jar).isFile())
            throw new IllegalStateException("no official client library: -Drackspan.stock.clients is " + jar + "; run the tests with `gradle testPatch`");
        try {
            URL tests = Wire.class.getProtectionDomain().getCodeSource().getLocation();
            return new URLClassLoader(new URL[] {new File(jar).toURI().toURL(), tests}, new Libraries());
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
            if (name.startsWith("org.apache.kafka.") || name.startsWith("io.rackspan."))
                throw new ClassNotFoundException(name);
            return Wire.class.getClassLoader().loadClass(name);
        }
    }

    /** Calls a method of this variant's Wire; the caller names the type of its result. */
    <T> T call(Class<T> type, String name, Object... arguments) {
        Thread thread = Thread.currentThread();
        ClassLoader before = thread.getContextClassLoader();
        thread.setContextClassLoader(loader);
        try {
            Method method = Arrays.stream(loader.loadClass(Wire.class.getName()).getMethods()).filter(m -> m.getName().equals(name)).findFirst().orElseThrow();
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
        return this == OURS ? "ours" : "stock";
    }
}
