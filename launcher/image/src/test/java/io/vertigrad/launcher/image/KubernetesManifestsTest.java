package io.vertigrad.launcher.image;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Checks that the manifests of examples/deploy/kubernetes are valid and fit together. */
class KubernetesManifestsTest {

  private static final Path BASE = Path.of("../../examples/deploy/kubernetes/base");

  private final Map<String, JsonObject> manifests = new LinkedHashMap<>();

  @BeforeEach
  void readManifests() throws IOException {
    for (JsonElement file : at(kustomization(), "resources").getAsJsonArray()) {
      for (JsonObject manifest : KubernetesSchema.read(BASE.resolve(file.getAsString()))) {
        String name = text(manifest, "kind") + "/" + text(manifest, "metadata.name");
        assertEquals(null, manifests.put(name, manifest), name + " is there twice");
      }
    }
  }

  @Test
  void shouldHaveOnlyFieldsOfKubernetes() throws IOException {
    for (JsonObject manifest : manifests.values()) {
      KubernetesSchema.check(manifest);
    }
  }

  @ParameterizedTest
  @CsvSource({
    "terminationGracePeriodSeconds, terminationGraceSeconds",
    "readOnlyRootFilesystem, readOnlyRootFileSystem",
    "failureThreshold, failures",
    "serviceName, service",
    "claimName, claim",
    "mountPath, path",
    "maxUnavailable, maxUnavailble",
    "podSelector, podSelektor",
    "publishNotReadyAddresses, publishUnreadyAddresses"
  })
  void shouldFindAMisspeltField(String field, String misspelt) {
    List<JsonObject> having =
        manifests.values().stream().filter(each -> each.toString().contains(field)).toList();

    assertTrue(!having.isEmpty(), field);
    for (JsonObject manifest : having) {
      String text = manifest.toString().replaceFirst("\"" + field + "\"", "\"" + misspelt + "\"");
      JsonObject wrong = JsonParser.parseString(text).getAsJsonObject();
      assertThrows(IllegalArgumentException.class, () -> KubernetesSchema.check(wrong), field);
    }
  }

  @Test
  void shouldSelectThePodsOfTheirOwnComponent() {
    int selectors = 0;
    for (JsonObject manifest : manifests.values()) {
      JsonObject selector =
          switch (text(manifest, "kind")) {
            case "Service" -> at(manifest, "spec.selector").getAsJsonObject();
            case "Deployment", "StatefulSet", "PodDisruptionBudget" ->
                at(manifest, "spec.selector.matchLabels").getAsJsonObject();
            default -> null;
          };
      if (selector != null) {
        selectors++;
        List<JsonObject> selected =
            workloads()
                .filter(
                    w ->
                        at(w, "spec.template.metadata.labels")
                            .getAsJsonObject()
                            .entrySet()
                            .containsAll(selector.entrySet()))
                .toList();
        assertEquals(1, selected.size(), text(manifest, "metadata.name"));
        assertEquals(text(manifest, "metadata.name"), text(selected.get(0), "metadata.name"));
      }
    }
    assertEquals(7, selectors);
  }

  @Test
  void shouldMountWhatThePodHasAndProbeWhatItOpens() {
    workloads()
        .forEach(
            workload -> {
              JsonObject pod = at(workload, "spec.template.spec").getAsJsonObject();
              Set<String> volumes = names(at(pod, "volumes"));
              JsonElement claims =
                  at(workload, "spec").getAsJsonObject().get("volumeClaimTemplates");
              if (claims != null) {
                claims.getAsJsonArray().forEach(c -> volumes.add(text(c, "metadata.name")));
              }
              JsonObject container =
                  at(pod, "containers").getAsJsonArray().get(0).getAsJsonObject();
              assertEquals(volumes, names(at(container, "volumeMounts")));
              Set<String> ports = names(at(container, "ports"));
              for (String probe : List.of("livenessProbe", "readinessProbe")) {
                assertTrue(ports.contains(text(container, probe + ".httpGet.port")), probe);
              }
              assertEquals("vertigrad", text(container, "image"));
            });
  }

  @Test
  void shouldStartAsManyMembersAsTheJobHas() throws IOException {
    for (String overlay : List.of("base", "gpu", "named")) {
      JsonObject job =
          JsonParser.parseString(Files.readString(BASE.resolveSibling(overlay).resolve("job.json")))
              .getAsJsonObject();

      assertEquals(
          text(job, "servers.count"),
          text(manifests.get("StatefulSet/vertigrad-servers"), "spec.replicas"));
      assertEquals(
          text(job, "workers.count"),
          text(manifests.get("Deployment/vertigrad-workers"), "spec.replicas"));
      assertEquals("8350", text(job, "dashboard.port"));
    }
    assertEquals(
        "vertigrad-servers",
        text(manifests.get("StatefulSet/vertigrad-servers"), "spec.serviceName"));
    assertTrue(manifests.containsKey("Service/vertigrad-servers"));
  }

  @Test
  void shouldFindTheCoordinatorByTheNameAndPortOfItsService() {
    Set<String> ports = new TreeSet<>();
    JsonObject service = manifests.get("Service/vertigrad-coordinator");
    at(service, "spec.ports").getAsJsonArray().forEach(port -> ports.add(text(port, "port")));
    assertEquals(Set.of("15801", "8350"), ports);

    for (String member : List.of("StatefulSet/vertigrad-servers", "Deployment/vertigrad-workers")) {
      String arguments = at(container(manifests.get(member)), "args").toString();
      assertTrue(arguments.contains("\"--job=$(COORDINATOR)\""), arguments);
      JsonObject variable =
          at(container(manifests.get(member)), "env").getAsJsonArray().get(0).getAsJsonObject();
      assertEquals("COORDINATOR", text(variable, "name"));
      assertEquals(text(service, "metadata.name"), text(variable, "value"));
      assertTrue(arguments.contains("\"--repeat\""), "the next job needs no new pod: " + arguments);
      assertTrue(arguments.contains("\"--port=8350\""), arguments);
      // Not a folder: that belongs to one run, and a pod takes part in one after the other.
      assertTrue(arguments.contains("\"--set=checkpoint.seconds=10\""), arguments);
    }
  }

  /** kubectl needs no annotations; Prometheus' usual configuration for pods does. */
  @Test
  void shouldNameThePortOfItsMetricsToPrometheus() {
    workloads()
        .forEach(
            workload -> {
              JsonObject all = at(workload, "spec.template.metadata.annotations").getAsJsonObject();
              assertEquals("true", all.get("prometheus.io/scrape").getAsString());
              assertEquals("/metrics", all.get("prometheus.io/path").getAsString());
              int port = all.get("prometheus.io/port").getAsInt();
              List<Integer> opened = new ArrayList<>();
              at(container(workload), "ports")
                  .getAsJsonArray()
                  .forEach(each -> opened.add(at(each, "containerPort").getAsInt()));
              assertTrue(opened.contains(port), opened.toString());
            });
  }

  /** A pod has 60 s for what takes a member 10 s and a coordinator up to 170 s. */
  @Test
  void shouldEndInTimeAndRunWithoutPrivileges() {
    workloads()
        .forEach(
            workload -> {
              JsonObject pod = at(workload, "spec.template.spec").getAsJsonObject();
              boolean job = text(workload, "kind").equals("Job");
              assertEquals(job ? "180" : "60", text(pod, "terminationGracePeriodSeconds"));
              assertEquals("true", text(pod, "securityContext.runAsNonRoot"));
              assertEquals("10001", text(pod, "securityContext.runAsUser"));
              JsonObject container = container(workload);
              assertEquals("true", text(container, "securityContext.readOnlyRootFilesystem"));
              assertEquals("false", text(container, "securityContext.allowPrivilegeEscalation"));
              assertTrue(at(container, "env").toString().contains("status.podIP"));
            });
  }

  @Test
  void shouldGiveDataToTheCoordinatorAndTheWorkersOnly() throws IOException {
    Path data = BASE.resolveSibling("data");
    String claim = text(KubernetesSchema.read(data.resolve("volume.yaml")).get(0), "metadata.name");
    Set<String> patched = new TreeSet<>();
    JsonObject all = KubernetesSchema.read(data.resolve("kustomization.yaml")).get(0);
    for (JsonElement patch : at(all, "patches").getAsJsonArray()) {
      JsonObject part = KubernetesSchema.read(data.resolve(text(patch, "path"))).get(0);
      JsonObject base = manifests.get(text(part, "kind") + "/" + text(part, "metadata.name"));
      JsonObject volume =
          at(part, "spec.template.spec.volumes").getAsJsonArray().get(0).getAsJsonObject();
      JsonObject mount =
          at(container(part), "volumeMounts").getAsJsonArray().get(0).getAsJsonObject();

      assertEquals(text(container(base), "name"), text(container(part), "name"));
      assertEquals(claim, text(volume, "persistentVolumeClaim.claimName"));
      assertEquals(text(volume, "name"), text(mount, "name"));
      JsonObject variable = at(container(part), "env").getAsJsonArray().get(0).getAsJsonObject();
      assertEquals(
          "VERTIGRAD_DATA=" + text(mount, "mountPath"),
          text(variable, "name") + "=" + text(variable, "value"));
      patched.add(text(container(part), "name"));
    }
    assertEquals(Set.of("coordinator", "worker"), patched);
  }

  /** kubectl cp runs tar in a container that has the volume. */
  @Test
  void shouldMountTheVolumeOfTheRunInThePodToCopyFrom() throws IOException {
    JsonObject pod = KubernetesSchema.read(BASE.resolveSibling("copy.yaml")).get(0);
    KubernetesSchema.check(pod);
    JsonObject job = manifests.get("Job/vertigrad-coordinator");

    JsonObject container = at(pod, "spec.containers").getAsJsonArray().get(0).getAsJsonObject();
    JsonObject mount = at(container, "volumeMounts").getAsJsonArray().get(0).getAsJsonObject();
    JsonObject volume = at(pod, "spec.volumes").getAsJsonArray().get(0).getAsJsonObject();
    assertEquals("/work true", text(mount, "mountPath") + " " + text(mount, "readOnly"));
    assertEquals(text(mount, "name"), text(volume, "name"));
    assertEquals(
        at(job, "spec.template.spec.volumes").getAsJsonArray().get(0).getAsJsonObject(), volume);
    assertEquals(at(job, "spec.template.spec.securityContext"), at(pod, "spec.securityContext"));
    assertEquals(at(container(job), "securityContext"), at(container, "securityContext"));
    assertEquals("vertigrad:" + image(kustomization()), text(container, "image"));
  }

  @Test
  void shouldShowRunsWhereTheIngressLeads() throws IOException {
    List<JsonObject> ui = KubernetesSchema.read(BASE.resolveSibling("ui.yaml"));
    for (JsonObject manifest : ui) {
      KubernetesSchema.check(manifest);
    }
    JsonObject deployment = ui.get(0);
    JsonObject container = container(deployment);
    JsonObject rule = at(ui.get(2), "spec.rules").getAsJsonArray().get(0).getAsJsonObject();
    JsonObject path = at(rule, "http.paths").getAsJsonArray().get(0).getAsJsonObject();
    List<String> options = new ArrayList<>();
    at(container, "args").getAsJsonArray().forEach(option -> options.add(option.getAsString()));

    assertEquals(
        Set.of(
            "--host=0.0.0.0",
            "--hosts=" + text(rule, "host"),
            "--base-path=" + text(path, "path"),
            "--token-file=/etc/vertigrad/ui/token"),
        Set.copyOf(options));
    assertEquals("Prefix", text(path, "pathType"));
    assertEquals(text(ui.get(1), "metadata.name"), text(path, "backend.service.name"));
    JsonObject port = at(ui.get(1), "spec.ports").getAsJsonArray().get(0).getAsJsonObject();
    assertEquals(text(port, "name"), text(path, "backend.service.port.name"));
    assertEquals(
        text(port, "port"), text(at(container, "ports").getAsJsonArray().get(0), "containerPort"));
    assertEquals(at(ui.get(1), "spec.selector"), at(deployment, "spec.template.metadata.labels"));
    JsonObject job = manifests.get("Job/vertigrad-coordinator");
    assertEquals(
        at(job, "spec.template.spec.volumes").getAsJsonArray().get(0),
        at(deployment, "spec.template.spec.volumes").getAsJsonArray().get(0));
    assertEquals(
        at(job, "spec.template.spec.securityContext"),
        at(deployment, "spec.template.spec.securityContext"));
    assertEquals(at(container(job), "securityContext"), at(container, "securityContext"));
    assertEquals("vertigrad:" + image(kustomization()), text(container, "image"));
  }

  @Test
  void shouldNameTheImageOfThisVersion() throws IOException {
    String pom = Files.readString(Path.of("../../pom.xml"));
    String version = pom.replaceFirst("(?s).*?<version>", "").replaceFirst("(?s)</version>.*", "");

    assertEquals(version, image(kustomization()));
    assertEquals(
        version + "-gpu",
        image(
            KubernetesSchema.read(BASE.resolveSibling("gpu").resolve("kustomization.yaml"))
                .get(0)));
  }

  private Stream<JsonObject> workloads() {
    return manifests.values().stream()
        .filter(m -> Set.of("Job", "StatefulSet", "Deployment").contains(text(m, "kind")));
  }

  private static JsonObject container(JsonObject workload) {
    return at(workload, "spec.template.spec.containers").getAsJsonArray().get(0).getAsJsonObject();
  }

  private static JsonObject kustomization() throws IOException {
    return KubernetesSchema.read(BASE.resolve("kustomization.yaml")).get(0);
  }

  private static String image(JsonObject kustomization) {
    JsonArray images = at(kustomization, "images").getAsJsonArray();
    assertEquals("vertigrad", text(images.get(0), "name"));
    return text(images.get(0), "newTag");
  }

  private static Set<String> names(JsonElement list) {
    List<String> names = new ArrayList<>();
    StreamSupport.stream(list.getAsJsonArray().spliterator(), false)
        .forEach(each -> names.add(text(each, "name")));
    assertEquals(names.size(), Set.copyOf(names).size(), names.toString());
    return new TreeSet<>(names);
  }

  private static String text(JsonElement from, String path) {
    return at(from, path).getAsString();
  }

  private static JsonElement at(JsonElement from, String path) {
    JsonElement found = from;
    for (String name : path.split("\\.")) {
      found = found.getAsJsonObject().get(name);
      assertTrue(found != null, () -> path + ": there is no " + name + " in " + from);
    }
    return found;
  }
}
