# An image of a distribution on a public base image, for those who have a registry; `rackspan image` needs none.
#
#     docker build -t rackspan -f Dockerfile build/dist/rackspan-kafka_2.13-4.3.1-1
ARG BASE=eclipse-temurin:17-jre
FROM ${BASE}
COPY . /opt/kafka
ENV PATH=/opt/kafka/bin:$PATH
CMD ["bash"]
