from backends import compile_backend


class CompileBackendOLDCARD(compile_backend.CompileBackend):
    def get_interact_profile(self, config):
        return []

    def get_best_batch_size(self):
        return None

    def compile(self, configs, dataloader=None):
        self.types = configs["model_info"]["input_type"].split(",")
        return {"model": configs["model_info"]["model"], "framework": configs["model_info"]["framework"],
                "compile_precision": configs["model_info"]["model_precision"], "input_type": self.types,
                "max_batch_size": configs["model_info"]["max_batch_size"], "compile_status": "success",
                "sg_percent": 100,
                "segments": [{"sg_idx": 0, "is_fallback": False,
                              "input_tensor_map": configs["model_info"]["input_shape"],
                              "output_tensor_map": configs["model_info"]["outputs"],
                              "compiled_model": [{"compiled_bs": 1,
                                                  "compiled_obj": configs["model_info"]["model_path"]}]}]}
