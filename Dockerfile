# An image of a distribution on a public base image, for those who have a registry; `rackspan image` needs none.
#
#     docker build -t rackspan -f Dockerfile build/dist/rackspan-kafka_2.13-4.3.1-1
#     docker run -d -p 9092:9092 rackspan
#
# It is used as the official apache/kafka: the same user, folders, port and variables.
ARG BASE=eclipse-temurin:17-jre
FROM ${BASE}
USER root
COPY . /opt/kafka
# Of group 0, so that a container may run as any user (OpenShift).
RUN set -e; for folder in /etc/kafka/secrets /var/lib/kafka/data /mnt/shared/config /opt/kafka/logs; do \
    mkdir -p $folder; chown 1000:0 $folder; chmod 775 $folder; done
ENV PATH=/opt/kafka/bin:$PATH
VOLUME ["/etc/kafka/secrets", "/var/lib/kafka/data", "/mnt/shared/config"]
EXPOSE 9092
USER 1000
HEALTHCHECK --interval=5s --timeout=5s --start-period=60s --retries=3 CMD /opt/kafka/docker/healthcheck.sh
ENTRYPOINT ["/opt/kafka/docker/entrypoint.sh"]
