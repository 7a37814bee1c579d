import java.util.List;
import java.util.Map;
import org.openapitools.client.ApiClient;
import org.openapitools.client.api.CoreApi;
import org.openapitools.client.model.TaskInfo;
import org.openapitools.client.model.TaskStatus;
import org.openapitools.client.model.TaskSubmission;

/** Submits a task over the client of openapi-generator, waits for its end and prints its result. */
public class Program {
  public static void main(String[] words) throws Exception {
    var secret = System.getenv("TASK_GATEWAY_AUTH");
    var client = new ApiClient();
    client.updateBaseUri(System.getenv("TASK_GATEWAY_URL"));
    client.setRequestInterceptor(call -> call.header("Authorization", "Bearer " + secret));
    var tasks = new CoreApi(client);

    var body = new TaskSubmission()
        .auth(secret)
        .taskType("echo")
        .taskTags(List.of("upper"))
        .payload(Map.of("text", "grüß dich"));
    TaskInfo task = tasks.submitTask(body, null, null, null);
    while (task.getStatus() == TaskStatus.PENDING || task.getStatus() == TaskStatus.RUNNING)
      task = tasks.getTask(task.getRequestId(), 30.0);
    System.out.println(task.getStatus() + " " + task.getResult().getOutput());
  }
}
